// The same by require().
const { isClean, Lazaret, LazaretError } = require("@lazaret/client");

async function main() {
  const { path } = JSON.parse(process.env.CASE);
  const result = await new Lazaret().scan({ file: path });
  const wrong = new Lazaret({ apiKey: "not-the-right-key" });
  const refused = await wrong.checkKey().catch((error) => [error instanceof LazaretError, error.code]);
  process.stdout.write(JSON.stringify({ clean: isClean(result), size: result.size, refused }));
}

main();
