// A page that does what none may do: everything that is noted about it.
export async function faults(open) {
  const tab = await open();
  tab.checksBothSchemes = true;
  await tab.page.goto('/');
  await tab.check().catch(() => {});
  return tab.problems;
}
