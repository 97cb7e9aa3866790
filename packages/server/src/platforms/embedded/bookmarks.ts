export { bookmarkFiles as embeddedBookmarks } from "../shared/bookmark-files.ts";
