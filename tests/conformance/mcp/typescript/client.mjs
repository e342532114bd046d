// Calls a few tools with the official client for TypeScript, in one era of the protocol, and prints what it found.
//   node client.mjs URL auto|legacy
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, era] = process.argv.slice(2);
const client = new Client({ name: "waypost-conformance", version: "1" }, { versionNegotiation: { mode: era } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const found = await client.callTool({ name: "discover_services", arguments: { q: "send an email" } });
const wrong = await client.callTool({ name: "get_service", arguments: { domain: "nothing.example" } });
const domain = found.structuredContent.services[0].domain;
const read = await client.readResource({ uri: `waypost://service/${domain}` });
console.log(
  JSON.stringify({
    version: client.getNegotiatedProtocolVersion?.() ?? null,
    tools: tools.length,
    first: domain,
    error: wrong.isError === true,
    resource: JSON.parse(read.contents[0].text).domain,
  }),
);
await client.close();
