export function Settings({ tab }: { tab: string }) {
  return <h1>{tab}</h1>;
}
