// How long a test waits for what must happen, ms. WINNOW_TEST_PATIENCE says it in seconds.
export const patience = Number(process.env.WINNOW_TEST_PATIENCE || 120) * 1000;

// The first true value of `condition`, looked at every few milliseconds.
export async function until(condition, what) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`in ${patience / 1000} s it did not happen that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
