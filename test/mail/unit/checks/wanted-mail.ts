/**
 * Sample messages: wanted mail of kinds that are rare in the training corpus, written for these tests. None of it may be classified
 * as Junk.
 */

export interface Letter {
  readonly from: string;
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
  readonly headers?: readonly string[];
}

const page = (title: string, body: string) =>
  `<!DOCTYPE html><html><head><title>${title}</title><style>td{font:14px sans-serif}</style></head><body><table width="600"><tr><td>${body}</td></tr></table></body></html>`;
const articles = (site: string, titles: readonly string[]) =>
  titles
    .map(
      (title, index) =>
        `<h3><a href="https://${site}/story/${index + 101}">${title}</a></h3><p>${title}: what it means, and what comes next. <a href="https://${site}/story/${index + 101}#more">Read more</a></p>`,
    )
    .join('');

export const WANTED_MAIL: Readonly<Record<string, Letter>> = {
  'a technology newsletter of 2002, plain text': {
    from: 'Network Weekly <editor@networkweekly.example>',
    subject: 'Network Weekly #148: Wireless security, Gigabit Ethernet, and a look at SOAP',
    text: `NETWORK WEEKLY                         September 18, 2002   Issue 148
=====================================================================
IN THIS ISSUE
1. Why your wireless LAN is wide open
2. Gigabit Ethernet gets cheap
3. SOAP or REST? Two views

---- Sponsor ------------------------------------------------------
FREE WHITE PAPER: Learn how to cut the cost of storage by 40%.
Click here to download: http://ads.networkweekly.example/wp/331
-------------------------------------------------------------------
1. WHY YOUR WIRELESS LAN IS WIDE OPEN
Most companies that installed 802.11b access points last year never turned on WEP, and those who did may be surprised to hear how little it helps. Our
lab drove through downtown San Jose with a laptop and an antenna. http://www.networkweekly.example/2002/09/wlan.html

2. GIGABIT ETHERNET GETS CHEAP
Prices for switches have fallen by half since January. We compare five of them, from $399 to $2,100. http://www.networkweekly.example/2002/09/gige.html

3. SOAP OR REST?
Two readers argue. http://www.networkweekly.example/2002/09/soap.html

-------------------------------------------------------------------
You are receiving this newsletter because you subscribed at networkweekly.example. To unsubscribe, visit
http://www.networkweekly.example/unsubscribe or send a message to leave-weekly@networkweekly.example.
To advertise, contact ads@networkweekly.example. Copyright 2002 Network Weekly, Inc. All rights reserved. Privacy policy: http://www.networkweekly.example/privacy`,
  },
  'an HTML newsletter of 2002 without a text part': {
    from: '"Daily Tech Report" <newsletter@dailytech.example>',
    subject: 'Daily Tech Report: Microsoft patches IE again; Palm cuts prices',
    html: page(
      'Daily Tech Report',
      `<img src="http://img.dailytech.example/logo.gif"><p>Thursday, August 22, 2002</p>${articles('www.dailytech.example', ['Microsoft patches Internet Explorer again', 'Palm cuts prices on handhelds', 'Sun shows a Linux server', 'AOL earnings: the analysts react', 'Reviewed: four digital cameras under $500', 'Poll: would you pay for news online?'])}<p>SPECIAL OFFER: Subscribe to the print edition now and save 50%! <a href="http://www.dailytech.example/subscribe">Click here</a>.</p><p>To unsubscribe from this free newsletter <a href="http://www.dailytech.example/unsub">click here</a>. Copyright 2002 Daily Tech Inc. All rights reserved.</p>`,
    ),
  },
  'a sale at a shop that one buys from': {
    from: 'Fernhill Outdoor <news@mail.fernhill.example>',
    subject: 'Up to 40% off tents and sleeping bags this weekend',
    headers: [
      'List-Unsubscribe: <https://mail.fernhill.example/u/abc>',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    ],
    text: 'Our autumn sale starts on Friday.\n\nSave up to 40% on tents, sleeping bags and rucksacks, while stocks last. Free delivery on orders over £50.\n\nShop now: https://www.fernhill.example/sale\n\nFernhill Outdoor Ltd, 12 Mill Lane, Kendal. You receive this email because you asked for news at our shop. Unsubscribe: https://mail.fernhill.example/u/abc',
    html: page(
      'Autumn sale',
      '<img src="https://img.fernhill.example/hero.jpg" alt="A tent in the hills"><h1>Our autumn sale starts on Friday</h1><p>Save up to 40% on tents, sleeping bags and rucksacks, while stocks last. Free delivery on orders over £50.</p><p><a href="https://www.fernhill.example/sale">Shop now</a></p><p>Fernhill Outdoor Ltd, 12 Mill Lane, Kendal. You receive this email because you asked for news at our shop. <a href="https://mail.fernhill.example/u/abc">Unsubscribe</a> · <a href="https://www.fernhill.example/privacy">Privacy policy</a></p>',
    ),
  },
  'an order confirmation': {
    from: 'Bookbarn Orders <orders@bookbarn.example>',
    subject: 'Your order #402-88121 has shipped!',
    text: 'Hello Maria,\n\nThank you for your order. These items have shipped:\n\n  1 x The Left Hand of Darkness   $9.99\n  1 x A Wizard of Earthsea        $8.50\n\nOrder total: $18.49\nCharged to: Visa ending in 4471\n\nTrack your package: https://www.bookbarn.example/orders/402-88121/track\n\nQuestions? Reply to this email or call 1-800-555-0142.\n',
  },
  'a password reset': {
    from: 'Tidepool <no-reply@tidepool.example>',
    subject: 'Reset your password',
    text: 'Somebody asked to reset the password of your account. If it was you, open this link within 30 minutes:\n\nhttps://app.tidepool.example/reset?t=8f3kd93kf\n\nIf it was not you, ignore this message; your password stays as it is.\n',
  },
  'a code to log in': {
    from: 'Tidepool <no-reply@tidepool.example>',
    subject: '482913 is your code',
    text: 'Your code is 482913. It expires in 10 minutes.',
  },
  'a notification of a code host': {
    from: 'dana-k <notifications@forge.example>',
    subject: 'Re: [tide/engine] Fix the race in the flush path (PR #812)',
    headers: ['In-Reply-To: <tide/engine/pull/812@forge.example>'],
    text: '@dana-k commented on this pull request.\n\n> +  await flush(queue);\n\nShould this hold the lock? I saw the test fail twice on CI.\n\n-- \nReply to this email directly or view it on Forge:\nhttps://forge.example/tide/engine/pull/812#issuecomment-1\nYou are receiving this because you authored the thread.',
  },
  'a bank statement': {
    from: 'Northern Savings Bank <statements@northernsavings.example>',
    subject: 'Your October statement is ready',
    html: page(
      'Statement',
      '<p>Dear Ms Ortega,</p><p>Your statement for account ending in 2210 is now available in online banking.</p><p>Sign in at <a href="https://www.northernsavings.example">www.northernsavings.example</a> to see it. We never ask for your password by email.</p><p>Northern Savings Bank plc. Authorised and regulated. This is an automatic message, please do not reply.</p>',
    ),
  },
  'an airline itinerary': {
    from: 'Skylark Airways <bookings@skylark.example>',
    subject: 'Booking confirmation K7PQ2M: Dublin - Lisbon',
    text: 'Thank you for booking with Skylark.\n\nReservation: K7PQ2M\nPassenger: MR T BYRNE\n\nSK 204  Dublin (DUB) 07:05  ->  Lisbon (LIS) 09:55   14 Mar\nSK 205  Lisbon (LIS) 21:10  ->  Dublin (DUB) 23:55   18 Mar\n\nTotal paid: EUR 148.20. Check in online from 48 hours before departure at https://www.skylark.example/checkin\nSAVE on car hire and hotels with our partners: https://www.skylark.example/extras\n',
  },
  'a newsletter in German': {
    from: 'Stadtbibliothek Auental <newsletter@stadtbibliothek-auental.example>',
    subject: 'Neues aus der Stadtbibliothek: Lesungen im November',
    text: 'Liebe Leserinnen und Leser,\n\nim November haben wir wieder ein volles Programm: Am 12. liest Clara Veith aus ihrem neuen Roman, am 19. gibt es einen kostenlosen Workshop zum Thema Familienforschung. Der Eintritt ist frei, um Anmeldung wird gebeten.\n\nAlle Termine: https://www.stadtbibliothek-auental.example/termine\n\nSie möchten keine Neuigkeiten mehr bekommen? Hier können Sie sich abmelden: https://www.stadtbibliothek-auental.example/abmelden\n\nIhre Stadtbibliothek',
  },
  'a letter in French': {
    from: 'Hélène Marchand <helene.marchand@courrier.example>',
    subject: 'Réunion de jeudi',
    text: 'Bonjour Paul,\n\nest-ce que tu pourrais apporter les plans jeudi ? Je voudrais les montrer à Sylvie avant de décider. On se retrouve à 14 h devant la mairie.\n\nÀ bientôt,\nHélène',
  },
  'a letter in Japanese': {
    from: '=?UTF-8?B?5L2Q6Jek5YGl?= <ken@satou.example>',
    subject: '=?UTF-8?B?5p2l6YCx44Gu5Lya6K2w44Gr44Gk44GE44Gm?=',
    text: '田中様\n\nお世話になっております。来週の会議ですが、水曜日の午後三時からでよろしいでしょうか。資料は明日までにお送りします。\n\nよろしくお願いいたします。\n佐藤健',
  },
  'a newsletter in Japanese': {
    from: 'news@hon-ya.example',
    subject: '=?UTF-8?B?5paw5YiK5qGI5YaF77yI5Y2B5LiA5pyI5Y+377yJ?=',
    text: '今月の新刊をご案内いたします。\n\n一、海辺の図書館　千六百円\n二、山の手帖　千二百円\n\n詳しくはこちら: https://www.hon-ya.example/new\n配信停止: https://www.hon-ya.example/stop',
  },
  'a letter in Russian': {
    from: 'Ольга <olga@pochta.example>',
    subject: '=?UTF-8?B?0JLRgdGC0YDQtdGH0LA=?=',
    text: 'Привет! Мы приедем в субботу около полудня. Захвати, пожалуйста, фотографии с дачи. Обнимаю, Оля',
  },
  'one word': { from: 'Bea <bea@home.example>', subject: 'Re: dinner?', text: 'ok' },
  'no text at all': { from: 'scanner@office.example', subject: 'Scan', text: '' },
  'a link and nothing else': {
    from: 'Tom <tom@home.example>',
    subject: 'look',
    text: 'https://en.encyclopedia.example/wiki/Octopus',
  },
  'an invitation to a party, excited': {
    from: 'Priya <priya.n@gmail.com>',
    subject: 'PARTY!!! Saturday at ours :)',
    text: 'Hi everyone!!\n\nWe finally moved in, so come and celebrate on Saturday from 7. Bring drinks, we have free pizza. Kids welcome!\n\nLove, Priya & Jon',
  },
  'a job advertised on a list of alumni': {
    from: 'Careers Office <careers@college.example>',
    subject: 'Jobs this week: internships, a summer school, and a career fair',
    text: 'Dear students,\n\n- Research assistant in marine biology, 12 months, $2,400 a month, apply by 1 December\n- Internship at a regional newspaper, paid\n- The career fair is on Thursday from 10 to 4 in the Great Hall. Over 60 employers, admission free.\n\nDetails: https://careers.college.example/jobs\n\nThe Careers Office',
  },
  'an invoice': {
    from: 'Accounts <billing@hostwell.example>',
    subject: 'Invoice 2026-1182 for November',
    text: 'Please find attached your invoice 2026-1182 over EUR 24.00, due on 5 December. We will charge the card on file, nothing to do for you.\n\nHostwell GmbH · https://my.hostwell.example/invoices',
  },
  'a charity asks for money': {
    from: 'Riverkeepers <hello@riverkeepers.example>',
    subject: 'Help us plant 10,000 trees before winter',
    html: page(
      'Trees',
      '<img src="https://www.riverkeepers.example/trees.jpg"><p>Dear friend,</p><p>thanks to you we cleaned 14 kilometres of river bank this year. Now we want to plant 10,000 trees before the ground freezes. A gift of $25 plants five of them.</p><p><a href="https://www.riverkeepers.example/give">Donate today</a></p><p>Riverkeepers is a registered charity. <a href="https://www.riverkeepers.example/prefs">Manage your preferences</a> or <a href="https://www.riverkeepers.example/unsub">unsubscribe</a>.</p>',
    ),
  },
  'a digest of a social site': {
    from: 'Hearth <digest@hearth.example>',
    subject: 'Ana, you have 3 new followers and 12 new posts',
    html: page(
      'Digest',
      `<p>Here is what you missed this week.</p>${articles('hearth.example', ['Ben posted a photo', 'Lucia started a discussion: best trails near Porto', 'Your group has a new event', 'Nils and 4 others liked your post', 'Trending in your network'])}<p><a href="https://hearth.example/settings">Change what we send you</a></p>`,
    ),
  },
  'a product announcement': {
    from: 'The Quill team <team@quill.example>',
    subject: 'Introducing Quill 4: write together, offline',
    text: 'Quill 4 is here.\n\nYou can now edit a document together without a connection; changes merge when you are back online. Version history keeps 90 days on the free plan, and forever on Pro.\n\nUpgrade for $8 a month, or try it free for 30 days, no credit card needed: https://quill.example/4\n\nThe Quill team\nYou get this because you have a Quill account. Unsubscribe: https://quill.example/u/9a',
  },
};

/** Formats a message as a mail program does: UTF-8 parts, and 8bit instead of quoted-printable. */
export function toLetter({ from, subject, text, html, headers = [] }: Letter): Uint8Array {
  const domain = /@([^>]+)/.exec(from)?.[1] ?? 'home.example';
  const head = [
    `From: ${from}`,
    'To: Maria Ortega <maria@example.test>',
    `Subject: ${subject}`,
    'Date: Sat, 21 Nov 2026 09:00:00 +0000',
    `Message-ID: <20261121.090000.17@${domain}>`,
    'MIME-Version: 1.0',
    ...headers,
  ];
  const part = (type: string, body: string) =>
    `Content-Type: text/${type}; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${body.replace(/\r?\n/g, '\r\n')}\r\n`;
  if (text !== undefined && html !== undefined) {
    const parts = `--b1\r\n${part('plain', text)}--b1\r\n${part('html', html)}--b1--\r\n`;
    return Buffer.from(`${head.join('\r\n')}\r\nContent-Type: multipart/alternative; boundary=b1\r\n\r\n${parts}`);
  }
  return Buffer.from(`${head.join('\r\n')}\r\n${html === undefined ? part('plain', text ?? '') : part('html', html)}`);
}
