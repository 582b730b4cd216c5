// How fast the page of one job comes and answers, by hand: node tests/dashboard/paint.mjs DATABASE JOB [RUNS]
//
// Starts a server on the database, opens the job's page RUNS times (default 5) in a browser that knows nothing of it, and
// prints the first contentful paint, the time until the sieve is drawn, the bytes received, and how long the page takes
// from an action to the first frame that shows it: each beside its goal, as a ratio. See support/environment.mjs for what
// the environment says.
import {missing} from './support/environment.mjs';
import {Browser, desktop} from './support/browser.mjs';
import {Site} from './support/site.mjs';

const kPaintGoalMs = 1000;
const kActionGoalMs = 100;
const kPatienceMs = 20_000;
const kHovers = 20;
const kBrushes = 8;
const kSorts = 6;

const [database, job, runs = '5'] = process.argv.slice(2);
if (!job || missing()) {
  console.error(job ? missing() : 'usage: node tests/dashboard/paint.mjs DATABASE JOB [RUNS]');
  process.exit(2);
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
function line(what, values, goal, unit = 'ms') {
  const [middle, most] = [median(values), Math.max(...values)];
  const ratio = goal ? `  ${(middle / goal).toFixed(2)} of the goal of ${goal} ${unit} (most ${(most / goal).toFixed(2)})` : '';
  console.log(`${what.padEnd(46)} median ${middle.toFixed(1).padStart(8)} ${unit}, most ${most.toFixed(1).padStart(8)} ${unit}${ratio}`);
}

// Within the page: window.__action is the time from the next action to the end of the first frame in which `done` holds.
function startClock(done, argument) {
  const kinds = ['pointermove', 'pointerup', 'click', 'keydown'];
  window.__action = new Promise((resolve) => {
    let start = 0;
    const begin = (event) => (start ||= event.timeStamp);
    for (const kind of kinds) addEventListener(kind, begin, {capture: true});
    const look = () => {
      if (start && done(argument)) {
        for (const kind of kinds) removeEventListener(kind, begin, {capture: true});
        // A message comes once the frame has been painted, and before what the page does next.
        const {port1, port2} = new MessageChannel();
        port1.onmessage = () => resolve(performance.now() - start);
        port2.postMessage(null);
      } else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}

// From an action to the end of the first frame in which `done` holds, ms, in the page's own time.
async function timed(page, action, done, argument) {
  // As text: the page's own policy forbids to make functions of texts.
  await page.evaluate(`(${startClock})(${done}, ${JSON.stringify(argument ?? null)})`);
  await action();
  return page.evaluate((most) => Promise.race([window.__action, new Promise((_, reject) => setTimeout(reject, most, new Error('nothing changed')))]), kPatienceMs);
}

async function load(browser, site) {
  const page = await browser.visit(site.url, {viewport: desktop});
  let bytes = 0;
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (event) => (bytes += event.encodedDataLength));
  await page.goto(`/jobs/${job}`, {waitUntil: 'commit'});
  // Once the frame after the sieve's canvas was filled has been shown.
  const drawn = await page.evaluate(() => new Promise((resolve) => {
    const look = () => (document.querySelector('.sieve canvas')?.width > 0 ? requestAnimationFrame(() => resolve(performance.now())) : requestAnimationFrame(look));
    look();
  }));
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN);
  await page.waitForLoadState('networkidle').catch(() => {});
  const shown = bytes;
  // What lies below the window is asked for when it comes near.
  await page.locator('#trials').scrollIntoViewIfNeeded();
  await page.getByRole('table', {name: 'Trials'}).waitFor();
  await page.waitForLoadState('networkidle').catch(() => {});
  return {page, paint, drawn, shown, all: bytes};
}

async function hovers(page) {
  const frame = page.locator('.sieve-frame');
  await frame.focus();  // its marks are told in their order by the arrow keys, as under the pointer
  const times = [];
  for (let i = 0; i < kHovers; i++) {
    const before = await page.locator('.sieve .tip strong').first().textContent({timeout: 200}).catch(() => '');
    times.push(await timed(page, () => page.keyboard.press('ArrowRight'), (old) => (document.querySelector('.sieve .tip strong')?.textContent ?? '') !== old, before));
  }
  return times;
}

// The lines follow the pointer at once, and everything else when the server has answered: `done` says of the page, and of
// what it said of its trials before, whether it has.
async function brushes(page, done) {
  const most = page.getByRole('slider', {name: /: maximum$/}).first();
  const atOnce = [];
  const answered = [];
  for (let i = 0; i < kBrushes; i++) {
    const box = await most.evaluate((end) => {
      end.closest('.axis-brush').scrollIntoView({block: 'center'});
      const found = end.closest('.axis-brush').getBoundingClientRect();
      return {x: found.x + found.width / 2, top: found.y, height: found.height};
    });
    const count = await page.locator('#parallel [role=status]').first().textContent();
    await page.mouse.move(box.x, box.top + box.height * 0.02);
    await page.mouse.down();
    atOnce.push(await timed(page, () => page.mouse.move(box.x, box.top + box.height * (0.3 + 0.07 * i)), () => document.querySelector('.brush-span') !== null));
    answered.push(await timed(page, () => page.mouse.up(), done, count));
    await page.getByRole('button', {name: /^Remove the filter/}).first().click();
    await page.locator('#parallel [role=status]').getByText(/^[\d,]+ trials$/).waitFor();
  }
  return {atOnce, answered};
}

const isCounted = (old) => document.querySelector('#parallel [role=status]')?.textContent !== old;

// And no card of which any part is in the window waits for its answer.
const hasFollowed = (old) => document.querySelector('#parallel [role=status]')?.textContent !== old && !document.querySelector('.grid[aria-busy=true]') &&
    [...document.querySelectorAll('.card[aria-busy=true]')].every((card) => card.getBoundingClientRect().top > innerHeight || card.getBoundingClientRect().bottom < 0);

async function sorts(page) {
  const table = page.getByRole('table', {name: 'Trials'});
  await table.scrollIntoViewIfNeeded();
  const times = [];
  for (let i = 0; i < kSorts; i++) {
    const head = table.getByRole('columnheader').filter({has: page.locator('button')}).nth(i % 3);
    const first = () => document.querySelector('#trials .vbody [role=row]')?.textContent ?? '';
    const before = await page.evaluate(first);
    times.push(await timed(page, () => head.getByRole('button').click(), (old) => {
      const now = document.querySelector('#trials .vbody [role=row]')?.textContent ?? '';
      return now !== '' && !now.includes('…') && now !== old;
    }, before));
  }
  return times;
}

const site = new Site({workers: 0, database});
const browser = await Browser.start();
try {
  await site.start();
  const loads = [];
  for (let i = 0; i < Number(runs); i++) {
    loads.push(await load(browser, site));
    if (i + 1 < Number(runs)) await loads.at(-1).page.context().close();
  }
  const page = loads.at(-1).page;
  line('first contentful paint', loads.map((each) => each.paint), kPaintGoalMs);
  line('  the first after the server\'s start', [loads[0].paint], kPaintGoalMs);
  line('the sieve is drawn', loads.map((each) => each.drawn), kPaintGoalMs);
  line('  the first after the server\'s start', [loads[0].drawn], kPaintGoalMs);
  line('received for what is in view, the page included', loads.map((each) => each.shown / 1024), 0, 'KiB');
  line('received once all of it was in view', loads.map((each) => each.all / 1024), 0, 'KiB');
  line('hover: the next mark of the sieve is told', await hovers(page), kActionGoalMs);
  const brush = await brushes(page, isCounted);
  line('brush: lines follow the pointer', brush.atOnce, kActionGoalMs);
  line('brush: the server\'s answer is shown', brush.answered, kActionGoalMs);
  line('brush: all that is in view has followed', (await brushes(page, hasFollowed)).answered, 0);
  line('sort: other rows are shown', await sorts(page), kActionGoalMs);
} finally {
  await browser.stop();
  await site.stop();
}
