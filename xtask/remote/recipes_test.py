"""Run the recipes of docs/remote.md for real: nginx, Caddy and an authorization server in front of a Sectile with keys or tokens.

Usage: recipes_test.py PROGRAM DEPLOY OUTPUT AUTHORIZATION_SERVER
PROGRAM is the sectile to test, DEPLOY the folder with nginx.conf and Caddyfile, OUTPUT an empty folder, and
AUTHORIZATION_SERVER a script for Node. A line per test; the last one is `N passed, N failed`.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

PROGRAM, DEPLOY, OUTPUT, AUTHORIZATION_SERVER = sys.argv[1:5]
OUTPUT = Path(OUTPUT)
HOST = "localhost"
REDIRECT = "http://127.0.0.1:1/callback"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "recipes", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
ACCEPT = {"Accept": "application/json, text/event-stream"}
HEADERS = ACCEPT | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
# Longer than the interval at which a server sends comments to keep a stream open.
SILENCE = 40
counts = {"passed": 0, "failed": 0}
processes = []


def expect(check, condition, why=""):
    counts["passed" if condition else "failed"] += 1
    print(f"ok      {check}" if condition else f"FAILED  {check}: {str(why)[:1500]}", flush=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(name, command, port):
    """Start a process, with its output in a file, and wait until it accepts connections."""
    log = (OUTPUT / f"{name}.log").open("wb")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SECTILE_")}
    environment |= {"HOME": str(OUTPUT), "XDG_DATA_HOME": str(OUTPUT / "data"), "XDG_CACHE_HOME": str(OUTPUT / "cache")}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
    )
    processes.append(process)
    for _ in range(300):
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return process
        time.sleep(0.1)
    raise RuntimeError(f"{name} did not start: " + (OUTPUT / f"{name}.log").read_text(errors="replace")[-2000:])


def stop(process):
    """End a process that this script started, with its children, which are in a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def certificates():
    """Make an authority of our own and a certificate for the public name."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=OUTPUT, check=True, capture_output=True, timeout=60)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test authority")
    openssl("req", *curve, "-keyout", "site.key", "-out", "site.csr", "-subj", f"/CN={HOST}")
    (OUTPUT / "site.ext").write_text(f"subjectAltName=DNS:{HOST}\n")
    openssl("x509", "-req", "-in", "site.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "site.ext", "-out", "site.pem")
    return ssl.create_default_context(cafile=OUTPUT / "ca.pem")


def replaced(text, *pairs):
    """Replace every pair; the file must contain each, or the test would not test it."""
    for old, new in pairs:
        if old not in text:
            raise RuntimeError(f"the example no longer contains `{old}`")
        text = text.replace(old, new)
    return text


def start_nginx(public, upstream):
    text = replaced(
        (Path(DEPLOY) / "nginx.conf").read_text(),
        ("listen 443 ssl", f"listen 127.0.0.1:{public} ssl"),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("notes.example;", f"{HOST};"),
        ("/etc/ssl/notes.example.pem", str(OUTPUT / "site.pem")),
        ("/etc/ssl/notes.example.key", str(OUTPUT / "site.key")),
        ("127.0.0.1:7420", f"127.0.0.1:{upstream}"),
        ("/run/nginx.pid", str(OUTPUT / "nginx.pid")),
        ("/var/log/nginx/", str(OUTPUT) + "/"),
        ("worker_processes auto", "worker_processes 1"),
    )
    # Folders that Debian's package creates for root.
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    private = "".join(f"    {kind}_temp_path {OUTPUT}/{kind};\n" for kind in kinds)
    text = text.replace("http {\n", "http {\n" + private, 1)
    # Debian adds modules with files of its own; the example needs none.
    file = OUTPUT / "nginx.conf"
    file.write_text(text)
    return start("nginx", ["nginx", "-p", str(OUTPUT), "-c", str(file), "-g", "daemon off;"], public)


def start_caddy(public, upstream):
    text = replaced(
        (Path(DEPLOY) / "Caddyfile").read_text(),
        ("notes.example {\n", f"https://{HOST}:{public} {{\n\tbind 127.0.0.1\n\ttls {OUTPUT}/site.pem {OUTPUT}/site.key\n"),
        ("127.0.0.1:7420", f"127.0.0.1:{upstream}"),
    )
    file = OUTPUT / "Caddyfile"
    # Without this Caddy would listen on the usual ports as well.
    file.write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    return start("caddy", ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"], public)


def settings(name, text):
    """Write a settings file in a folder of its own, with a folder of notes."""
    folder = OUTPUT / name
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "plan.md").write_text("# Plan\n\nIntroduction.\n\n## Catering\n\nSoup and bread for forty people.\n")
    (folder / "sectile.toml").write_text(text)
    return folder


def add_key(folder, user, role):
    command = [PROGRAM, "auth", "add-key", "--user", user, "--role", role, "--file", str(folder / "keys.toml")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return re.search(r"sectile_\S+", done.stdout + done.stderr).group()


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def work(label, url, http, mode, may_edit=True):
    """Do what an agent does: look at the tools, search, read, edit, read again."""
    async with Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=30) as client:
        expect(f"{label}: the server answers to its name", client.server_info.name == "sectile", client.server_info)
        names = {tool.name for tool in (await client.list_tools()).tools}
        expect(f"{label}: tools are listed", {"search", "fetch"} <= names, names)
        found = await client.call_tool("search", {"query": "soup for people"})
        results = (found.structured_content or {}).get("results") or [{}]
        expect(f"{label}: a search finds the section", "Catering" in results[0].get("title", ""), found)
        expect(f"{label}: its url is not empty", bool(results[0].get("url")), found)
        if not may_edit:
            expect(f"{label}: a viewer is not offered edits", "edit" not in names, names)
            return
        line = f"Edited over {label}."
        edited = await client.call_tool("edit", {"id": "plan.md#Catering", "new": line, "place": "append"})
        after = text_of(await client.call_tool("fetch", {"id": "plan.md#Catering"}))
        expect(f"{label}: an edit is there to be read", not edited.is_error and line in after, edited)


async def status(url, context, headers=None, json_body=LIST):
    async with httpx2.AsyncClient(verify=context, timeout=30) as http:
        return await http.post(url, json=json_body, headers=HEADERS | (headers or {}))


async def stream(label, url, context, key):
    """Open the event stream of a session, and see that the comments that keep it open arrive while it is silent."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "recipes", "version": "1"}}}
    headers = ACCEPT | {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(verify=context, timeout=30) as http:
        opened = await http.post(url, json=hello, headers=headers)
        headers |= {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        begin = time.monotonic()
        async with http.stream("GET", url, headers=headers | {"Accept": "text/event-stream"}) as answer:
            kind = answer.headers.get("content-type", "")
            expect(f"{label}: a stream opens", answer.status_code == 200 and kind.startswith("text/event-stream"),
                   (answer.status_code, kind))
            expect(f"{label}: its head comes at once", time.monotonic() - begin < 3, time.monotonic() - begin)
            seen, times, is_open = b"", [], True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SILENCE):
                    async for part in answer.aiter_raw():
                        times.append(round(time.monotonic() - begin, 1))
                        seen += part
                    is_open = False
            expect(f"{label}: after {SILENCE} s it is open", is_open, (times, seen))
            # Held back, all of them would come together.
            expect(f"{label}: what was written meanwhile came one by one", len(times) >= 2 and times[-1] - times[0] > 5, (times, seen))


async def recipe_with_keys(proxy, start_proxy, context):
    public, upstream = free_port(), free_port()
    base = f"https://{HOST}:{public}"
    folder = settings(proxy, f"""
[server.http]
bind = "127.0.0.1:{upstream}"
public_url = "{base}"
trusted_proxies = ["127.0.0.1"]
[server.auth]
keys_file = "keys.toml"
[desk]
root = "notes"
cache = "cache"
""")
    editor, viewer = add_key(folder, "ada", "editor"), add_key(folder, "bob", "viewer")
    server = start(f"{proxy}-sectile", [PROGRAM, "serve", "--config", str(folder / "sectile.toml")], upstream)
    front = start_proxy(public, upstream)
    url = f"{base}/mcp"
    try:
        for mode in ("auto", "legacy"):
            async with httpx2.AsyncClient(verify=context, headers={"Authorization": f"Bearer {editor}"}, timeout=30) as http:
                await work(f"{proxy}, {mode}", url, http, mode)
        async with httpx2.AsyncClient(verify=context, headers={"X-Api-Key": viewer}, timeout=30) as http:
            await work(f"{proxy}, viewer", url, http, "auto", may_edit=False)
        answer = await status(url, context)
        expect(f"{proxy}: no key is 401", answer.status_code == 401, answer.status_code)
        expect(f"{proxy}: with a challenge", "bearer" in answer.headers.get("www-authenticate", "").lower(), answer.headers)
        answer = await status(url, context, {"Authorization": f"Bearer {editor[:-1]}{'a' if editor[-1] != 'a' else 'b'}"})
        expect(f"{proxy}: a wrong key is 401", answer.status_code == 401, answer.status_code)
        answer = await status(url, context, {"Authorization": "Bearer " + "x" * 8100})
        expect(f"{proxy}: a token of 8,100 bytes reaches the server", answer.status_code == 401, answer.status_code)
        bearer = {"Authorization": f"Bearer {editor}"}
        answer = await status(url, context, bearer | {"Origin": "https://elsewhere.example"})
        expect(f"{proxy}: a foreign origin is 403", answer.status_code == 403, answer.status_code)
        answer = await status(url, context, bearer | {"X-Forwarded-For": "203.0.113.9"})
        expect(f"{proxy}: X-Forwarded-For from a client does no harm", answer.status_code == 200, answer.text)
        answer = await status(url, context, bearer, LIST | {"params": {"_meta": META | {"filler": "x" * 3_000_000}}})
        expect(f"{proxy}: a message of 3 MB reaches the server", answer.status_code == 200, (answer.status_code, answer.text[:300]))
        try:
            answer = await status(url, context, bearer, LIST | {"params": {"_meta": META | {"filler": "x" * 5_000_000}}})
            refused = answer.status_code
        except httpx2.TransportError as error:
            # A proxy may hang up on a client that is still sending.
            refused = repr(error)
        expect(f"{proxy}: one of 5 MB is refused", refused == 413 or "Error" in str(refused), refused)
        await stream(proxy, url, context, editor)
    finally:
        stop(front)
        stop(server)


class Form(HTMLParser):
    """The action and the hidden fields of the form on a page."""

    def __init__(self, text):
        super().__init__()
        self.action, self.fields = None, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form":
            self.action = self.action or attributes.get("action")
        if tag == "input" and attributes.get("name"):
            self.fields[attributes["name"]] = attributes.get("value") or ""


class Storage:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    """Somebody with a browser who signs in and agrees to everything."""

    async def visit(self, url):
        async with httpx2.AsyncClient(timeout=30) as browser:
            answer = await browser.get(url)
            for _ in range(20):
                if answer.is_redirect:
                    target = urllib.parse.urljoin(str(answer.request.url), answer.headers["location"])
                    if target.startswith(REDIRECT):
                        self.answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))
                        return
                    answer = await browser.get(target)
                    continue
                form = Form(answer.text)
                if not form.action:
                    raise RuntimeError(f"the authorization server shows no form: {answer.status_code} {answer.text[-800:]}")
                fields = form.fields | {name: "ada" for name in ("login", "password") if name in form.fields}
                target = urllib.parse.urljoin(str(answer.request.url), form.action)
                answer = await browser.post(target, data=fields)
        raise RuntimeError("too many pages")

    async def returned(self):
        if "code" not in self.answer:
            raise RuntimeError(f"no code: {self.answer}")
        return AuthorizationCodeResult(**{key: self.answer.get(key) for key in ("code", "state", "iss")})


async def sign_in(url, resource_url, context):
    """The whole flow of the official client. Returns its storage and the paths of every request that it made."""
    storage, person, paths = Storage(), Person(), []
    metadata = OAuthClientMetadata(client_name="recipes", redirect_uris=[REDIRECT], scope="openid",
                                   grant_types=["authorization_code", "refresh_token"], token_endpoint_auth_method="none")
    provider = OAuthClientProvider(resource_url, metadata, storage, person.visit, person.returned)

    async def noted(request):
        paths.append(f"{request.method} {request.url.path}")

    http = httpx2.AsyncClient(verify=context, auth=provider, timeout=30, event_hooks={"request": [noted]})
    return storage, paths, http


async def recipe_with_tokens(start_proxy, context):
    public, upstream, login = free_port(), free_port(), free_port()
    base, issuer = f"https://{HOST}:{public}", f"http://127.0.0.1:{login}"
    url = f"{base}/mcp"
    folder = settings("oauth", f"""
[server.http]
bind = "127.0.0.1:{upstream}"
public_url = "{base}"
trusted_proxies = ["127.0.0.1"]
[server.auth.tokens]
jwks_url = "{issuer}/jwks"
issuer = "{issuer}"
leeway_seconds = 0
[server.auth.roles]
viewer = ["search", "fetch", "outline"]
[desk]
root = "notes"
cache = "cache"
""")
    issuing = start("authorization-server", ["node", AUTHORIZATION_SERVER, str(login), url, "https://other.example/mcp"], login)
    server = start("oauth-sectile", [PROGRAM, "serve", "--config", str(folder / "sectile.toml")], upstream)
    front = start_proxy(public, upstream)
    try:
        answer = await status(url, context)
        challenge = answer.headers.get("www-authenticate", "")
        place = f"{base}/.well-known/oauth-protected-resource/mcp"
        expect("oauth: 401 names the metadata of the resource", answer.status_code == 401 and f'resource_metadata="{place}"' in challenge,
               (answer.status_code, challenge))
        async with httpx2.AsyncClient(verify=context, timeout=30) as http:
            document = (await http.get(place)).json()
        expect("oauth: the metadata names resource and issuer",
               document.get("resource") == url and document.get("authorization_servers") == [issuer], document)

        storage, paths, http = await sign_in(url, url, context)
        async with http:
            await work("oauth", url, http, "auto", may_edit=False)
        expect("oauth: the client registered itself", storage.client is not None and bool(storage.client.client_id), storage.client)
        expect("oauth: it has a token", storage.tokens is not None, paths)
        token = storage.tokens.access_token
        claims = jwt.decode(token, options={"verify_signature": False})
        expect("oauth: the token is for this endpoint", claims["aud"] == url and claims["iss"] == issuer, claims)
        expect("oauth: it is signed with ES256", jwt.get_unverified_header(token)["alg"] == "ES256", token)

        async def code(bearer):
            return (await status(url, context, {"Authorization": f"Bearer {bearer}"})).status_code

        expect("oauth: the token works by itself", await code(token) == 200)
        head, body, signature = token.split(".")
        expect("oauth: a changed signature is 401", await code(f"{head}.{body}.{signature[::-1]}") == 401)
        # Signed by the same authorization server, but for another service.
        other = await token_for(issuer, "https://other.example/mcp")
        audience = jwt.decode(other, options={"verify_signature": False})["aud"]
        expect("oauth: a token for another service is 401",
               audience == "https://other.example/mcp" and await code(other) == 401, audience)
    finally:
        stop(front)
        stop(server)
    try:
        await forged_claims(folder, public, upstream, url, issuer, start_proxy, context)
    finally:
        stop(issuing)


async def token_for(issuer, resource):
    """Get a token for a resource with plain requests: register, authorize with PKCE, exchange the code."""
    import base64
    import hashlib

    verifier = "v" * 64
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    async with httpx2.AsyncClient(timeout=30) as http:
        client = (await http.post(f"{issuer}/reg", json={
            "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "application_type": "native"})).json()
        query = {"client_id": client["client_id"], "response_type": "code", "redirect_uri": REDIRECT, "scope": "openid",
                 "resource": resource, "code_challenge": challenge, "code_challenge_method": "S256"}
        person = Person()
        await person.visit(f"{issuer}/auth?{urllib.parse.urlencode(query)}")
        answer = await http.post(f"{issuer}/token", data={
            "grant_type": "authorization_code", "code": person.answer["code"], "redirect_uri": REDIRECT,
            "client_id": client["client_id"], "code_verifier": verifier, "resource": resource})
        return answer.json()["access_token"]


async def forged_claims(folder, public, upstream, url, issuer, start_proxy, context):
    """The same server with a key of ours, so that each claim can be wrong while the signature is right."""
    key = ec.generate_private_key(ec.SECP256R1())
    public_key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    (folder / "jwks.json").write_text(json.dumps({"keys": [public_key | {"kid": "ours", "alg": "ES256", "use": "sig"}]}))
    file = folder / "sectile.toml"
    file.write_text(replaced(file.read_text(), (f'jwks_url = "{issuer}/jwks"', 'jwks_file = "jwks.json"')))
    server = start("claims-sectile", [PROGRAM, "serve", "--config", str(file)], upstream)
    front = start_proxy(public, upstream)
    now = int(time.time())
    good = {"iss": issuer, "aud": url, "sub": "ada", "iat": now, "exp": now + 600}
    try:
        for name, change, wanted in (
            ("right claims are 200", {}, 200),
            ("the issuer of somebody else is 401", {"iss": "https://login.example"}, 401),
            ("another audience is 401", {"aud": "https://other.example/mcp"}, 401),
            ("an expired token is 401", {"iat": now - 900, "exp": now - 300}, 401),
            ("one that is not valid yet is 401", {"nbf": now + 600}, 401),
        ):
            token = jwt.encode(good | change, key, "ES256", {"kid": "ours"})
            answer = await status(url, context, {"Authorization": f"Bearer {token}"})
            expect(f"claims: {name}", answer.status_code == wanted, (answer.status_code, answer.text[:300]))
    finally:
        stop(front)
        stop(server)


async def main():
    context = certificates()
    proxies = {"nginx": start_nginx}
    if shutil.which("caddy"):
        proxies["caddy"] = start_caddy
    else:
        print("NOT CHECKED: caddy is not installed: apt-get install caddy")
    recipes = [(name, recipe_with_keys(name, begin, context)) for name, begin in proxies.items()]
    recipes.append(("oauth", recipe_with_tokens(start_nginx, context)))
    for name, recipe in recipes:
        try:
            async with asyncio.timeout(180):
                await recipe
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            expect(f"{name}: the recipe comes to its end", False, repr(error))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    finally:
        for process in processes:
            if process.poll() is None:
                stop(process)
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    sys.exit(1 if counts["failed"] else 0)
