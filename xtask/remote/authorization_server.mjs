// A real authorization server on loopback: oidc-provider, with registration, PKCE and resource indicators.
//
// Usage: authorization_server.mjs PORT RESOURCE... Its access tokens are JWTs for the RESOURCE that the client named. The
// sign-in form of the package's development mode accepts any name and password.

import { generateKeyPairSync } from "node:crypto";
import Provider, { errors } from "oidc-provider";

const [port, ...resources] = process.argv.slice(2);
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const signing = { ...privateKey.export({ format: "jwk" }), use: "sig", alg: "ES256", kid: "signing" };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys: [signing] },
  scopes: ["openid", "offline_access"],
  clientDefaults: { id_token_signed_response_alg: "ES256" },
  enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
  cookies: { keys: ["only for this test"] },
  pkce: { required: () => true },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo(_, resource) {
        if (!resources.includes(resource)) throw new errors.InvalidTarget();
        return {
          scope: "openid",
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        };
      },
    },
  },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
