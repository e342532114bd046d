// Verifies signed requests with Cloudflare's web-bot-auth and the keys of a directory, and prints one word for each.
//   node verify.mjs FILE    which holds {"keys": [JWK, ...], "requests": [{"url": ..., "headers": {...}}, ...]}
import { readFileSync } from "node:fs";
import { jwkToKeyID, verify } from "web-bot-auth";
import { helpers, verifierFromJWK } from "web-bot-auth/crypto";

const { keys, requests } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const verifiers = new Map();
for (const key of keys) {
  const id = await jwkToKeyID(key, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
  verifiers.set(id, await verifierFromJWK(key));
}
const said = [];
for (const { url, headers } of requests) {
  try {
    await verify(new Request(url, { headers }), (data, signature, params) => {
      const verifier = verifiers.get(params.keyid);
      if (!verifier) throw new Error("unknown key");
      return verifier(data, signature, params);
    });
    said.push("accepted");
  } catch (error) {
    said.push(`refused: ${error.message}`);
  }
}
console.log(JSON.stringify(said));
