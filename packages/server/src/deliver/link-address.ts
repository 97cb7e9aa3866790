/** A link to an object without what lets one in: safe to tell. */
export function linkAddress(link: string): string {
  const url = new URL(link);
  for (const name of [...url.searchParams.keys()]) {
    if (/^(x-amz-.*|x-id|awsaccesskeyid|signature|expires)$/i.test(name)) url.searchParams.delete(name);
  }
  return url.href;
}
