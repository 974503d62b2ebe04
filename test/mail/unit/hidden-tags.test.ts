/** What a person does not see in HTML, an agent does not read. */
import { expect, it } from 'vitest';
import { readHtml } from '../../../workers/mail/checks/spam/html-text.ts';
import { backgroundOf, isTagHidden } from '../../../workers/mail/mcp/hidden-tags.ts';

const shows = (html: string) => readHtml(html, { isHidden: isTagHidden, backgroundOf }).text.includes('ORDER');

it.each([
  '<div style="color:#fefefe;background:#ffffff">ORDER</div>',
  '<div style="color:#f4f4f4">ORDER</div>',
  '<div style="font:0/0 a">ORDER</div>',
  '<div style="font:bold 1px Arial">ORDER</div>',
  '<div style="color:rgba(0,0,0,0)">ORDER</div>',
  '<div style="color:rgb(0 0 0 / 4%)">ORDER</div>',
  '<div style="color:#00000000">ORDER</div>',
  '<div style="background:#123456"><span style="color:#123456">ORDER</span></div>',
  '<table bgcolor="#222222"><tr><td><table><tr><td style="color:#232323">ORDER</td></tr></table></td></tr></table>',
  '<div style="margin-left:-5000px">ORDER</div>',
  '<div style="position:absolute;left:-400em">ORDER</div>',
  '<p style="color:hsl(0,0%,100%)">ORDER</p>',
  '<font color="snow">ORDER</font>',
])('hides %s', (html) => expect(shows(html)).toBe(false));

it.each([
  '<div style="color:#fff;background:#123456">ORDER</div>',
  '<div style="color:#fff;background:url(x) no-repeat">ORDER</div>',
  '<div style="background:#123456">x</div><p style="color:#123456">ORDER</p>',
  '<div style="background:#123456"><div>x</div></div><p style="color:#123456">ORDER</p>',
  '<div style="font:700 14px/1.5 Arial;margin:0 -10px">ORDER</div>',
  '<div style="color:rgba(0,0,0,.6)">ORDER</div>',
  '<div style="color:hsl(210,80%,40%)">ORDER</div>',
  '<p style="color:#999">ORDER</p>',
])('shows %s', (html) => expect(shows(html)).toBe(true));
