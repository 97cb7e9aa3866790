/** In the data folder of the machine that guards: a bucket is guarded from one. */
export { bookmarkFiles as awsBookmarks } from "../shared/bookmark-files.ts";
