// How long a test waits for what must happen, ms. WINNOW_TEST_PATIENCE says it in seconds.
export const patience = Number(process.env.WINNOW_TEST_PATIENCE || 120) * 1000;

// The first true value of `condition`. Looking takes at most a quarter of the time: what is waited for needs the processors too.
export async function until(condition, what) {
  const end = Date.now() + patience;
  for (;;) {
    const begin = Date.now();
    const value = await condition();
    if (value) return value;
    const now = Date.now();
    if (now > end) throw new Error(`in ${patience / 1000} s it did not happen that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, Math.max(10, Math.min(250, 3 * (now - begin)))));
  }
}
