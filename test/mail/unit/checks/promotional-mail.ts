/**
 * Sample messages: wanted mail that resembles spam. Promotions, receipts, reminders and HTML-only mail, as legitimate senders write
 * them today. Bulk mail offers one-click unsubscription.
 */
import type { Letter } from './wanted-mail.ts';

const button = (text: string, site: string) =>
  `<table align="center"><tr><td bgcolor="#e60023" style="padding:12px"><a href="https://click.${site}/ls/click?upn=u001.aGVsbG8" style="color:#fff">${text}</a></td></tr></table>`;
const footer = (site: string) =>
  `<p style="font-size:11px">You are receiving this email because you signed up at ${site}. <a href="https://${site}/unsubscribe?u=8812">Unsubscribe</a> | <a href="https://${site}/prefs">Manage preferences</a> | <a href="https://${site}/view?m=1">View in browser</a><br>500 Main Street, Suite 200, San Francisco, CA 94107. © 2026 All rights reserved.</p><img src="https://${site}/open.gif?u=1" width="1" height="1" alt="">`;
const page = (body: string) =>
  `<html><body bgcolor="#f4f4f4"><center><table width="600" bgcolor="#ffffff"><tr><td>${body}</td></tr></table></center></body></html>`;
const bulk = (name: string, site: string, subject: string, text: string, call: string): Letter => ({
  from: `${name} <news@${site}>`,
  subject,
  html: page(`<p>${text}</p>${button(call, site)}${footer(site)}`),
  headers: [`List-Unsubscribe: <https://${site}/u?1>`, 'List-Unsubscribe-Post: List-Unsubscribe=One-Click'],
});
const single = (name: string, site: string, subject: string, text: string, call: string): Letter => ({
  from: `${name} <no-reply@${site}>`,
  subject,
  html: page(`<p>${text}</p>${button(call, site)}`),
});

export const PROMOTIONAL_MAIL: Readonly<Record<string, Letter>> = {
  'a sale of one day': bulk(
    'Shop',
    'shop.example',
    '🔥 BLACK FRIDAY: 70% OFF EVERYTHING, 24 hours only!',
    'Don’t miss out! Our biggest sale of the year ends at midnight. FREE SHIPPING on all orders over $50. Use code <b>BF70</b> at checkout.',
    'SHOP NOW',
  ),
  'bonus miles': bulk(
    'Miles Club',
    'air.example',
    'Congratulations! You’ve earned 10,000 bonus miles',
    'Congratulations Ann! You have earned 10,000 bonus miles. Claim your reward before December 31.',
    'Claim your miles',
  ),
  'a state lottery': bulk(
    'State Lottery',
    'lottery.example',
    'The jackpot is $450 million!',
    'Saturday’s jackpot is an estimated $450 million. Get your ticket today. Must be 18 or older.',
    'Find a shop',
  ),
  'a bank offers a card': bulk(
    'Example Bank',
    'bank.example',
    'You’re pre-approved: $200 bonus and 0% intro APR',
    'Dear Ann, you are pre-approved for the Example Rewards Card. Earn a $200 cash bonus after you spend $500. 0% intro APR for 15 months, no annual fee.',
    'Apply now',
  ),
  'a lender to its customer': bulk(
    'Home Loans',
    'lender.example',
    'Refinance rates just dropped',
    'Mortgage rates fell this week. As a customer you may qualify to refinance at 5.1% and save $312 a month.',
    'Check my rate',
  ),
  'a webinar': bulk(
    'Acme Marketing',
    'acme.example',
    'FREE webinar: 10 ways to grow your business fast',
    'Join us for a free webinar and learn how to double your sales. Seats are limited, register today!',
    'Save my seat',
  ),
  'a charity': bulk(
    'Relief Fund',
    'relief.example',
    'Help children in Nigeria',
    'Dear friend, your gift of $25 will be matched. Millions of children need your urgent assistance.',
    'Donate',
  ),
  'a campaign': bulk(
    'Campaign HQ',
    'campaign.example',
    'URGENT: We’re falling short, Ann',
    'Friend, we need 1,000 more donations before MIDNIGHT. Will you chip in $5 right now?',
    'CHIP IN $5',
  ),
  'a survey': bulk(
    'Air',
    'fly.example',
    'Take our survey and win a $500 voucher',
    'Tell us about your flight. Complete the survey for a chance to win $500.',
    'Start survey',
  ),
  'people to meet': bulk(
    'Meet',
    'meet.example',
    'You have 3 new matches!',
    'Maria (29) and 2 others liked you. See who’s interested!',
    'See my matches',
  ),
  'a house for sale': bulk(
    'Agent Ann',
    'realty.example',
    'Just listed! Your dream home',
    'Open house Sunday. 3 beds, 2 baths, $450,000. $0 down payment for qualified buyers! Call me today.',
    'See the house',
  ),
  'a shop in German': bulk(
    'Laden',
    'laden.example',
    'Nur heute: 20 % auf alles!',
    'Jetzt zugreifen und sparen. Kostenloser Versand ab 30 €.',
    'Jetzt kaufen',
  ),
  'a shop in Chinese': bulk(
    '商店',
    'shangdian.example',
    '双11大促:全场5折,立即抢购!',
    '全场免运费,仅限今天。',
    '立即购买',
  ),
  'a receipt': single(
    'Pay',
    'pay.example',
    'Receipt for Your Payment to Store Ltd',
    'Hello Ann,<br>You sent a payment of $49.99 USD to Store Ltd (billing@store.example). It may take a few moments for this transaction to appear in your account.<br>Transaction ID: 8AB12345CD678901E',
    'View or Manage Payment',
  ),
  'a security alert': single(
    'Account',
    'accounts.example',
    'Security alert: new sign-in on Linux',
    'We noticed a new sign-in to your account on a Linux device. If this was you, you don’t need to do anything. If not, we’ll help you secure your account.',
    'Check activity',
  ),
  'a link to reset a password': single(
    'App',
    'app.example',
    'Reset your password',
    'Somebody asked for a new password. The link is good for 24 hours. If it was not you, ignore this message.',
    'Reset password',
  ),
  'a parcel': single(
    'Parcel',
    'parcel.example',
    'Your parcel could not be delivered',
    'We tried to deliver your parcel 00340434161094042557 today but nobody was home. Choose a new delivery date.',
    'Reschedule',
  ),
  'a gift card': single(
    'Gift',
    'cards.example',
    'Bob sent you a $50 gift card!',
    'Congratulations! You’ve received a $50 gift card from Bob.',
    'Redeem your gift',
  ),
  'a code to log in by a bank': {
    from: 'Bank <alert@giro.example>',
    subject: '483920 is your code',
    text: 'Your code is 483920. Never share it with anybody. We will never call you to ask for it.',
  },
  'a tax refund': {
    from: 'Revenue <noreply@revenue.example>',
    subject: 'Your tax refund is on its way',
    text: 'Your refund of $1,204.00 was sent to your bank account ending in 1234 on November 19. Allow five business days.\nDo not reply to this message.',
  },
  'an invoice to pay': {
    from: 'Accounts <ar@supplier.example>',
    subject: 'Invoice INV-20391 is attached',
    text: 'Dear customer,\n\nPlease find attached invoice INV-20391 for $1,250.00, due December 15. Payment by wire transfer to the account on the invoice.\n\nRegards,\nAccounts receivable',
  },
  'a clinic': {
    from: 'Dr. Smith <office@clinic.example>',
    subject: 'Your weight loss program: week 3',
    text: 'Hi Ann,\nthis is a reminder of your appointment on Tuesday at 9. Remember to log your weight. Lose 2 pounds this week!\nDr. Smith',
  },
};
