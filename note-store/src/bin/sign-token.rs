//! Signs a bearer token for trying out a server that accepts HS256 tokens. A real issuer does this where people sign in.

#![expect(clippy::print_stdout, reason = "the token is the result")]
#![expect(
    clippy::disallowed_methods,
    reason = "the secret is in a file, and this is not the product"
)]

use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::Parser;
use ring::hmac;
use serde_json::json;

/// Signs a bearer token with the secret of a server, and prints it.
#[derive(Debug, Parser)]
#[command(name = "sign-token")]
struct SignTokenArgs {
    /// File with the secret, as in server.auth.tokens.secret_file.
    #[arg(long, value_name = "FILE")]
    secret_file: PathBuf,
    /// The issuer, as in server.auth.tokens.issuer.
    #[arg(long)]
    issuer: String,
    /// The audience, as in server.auth.tokens.audience, or the URL of the server.
    #[arg(long)]
    audience: String,
    /// The user who signs in.
    #[arg(long)]
    user: String,
    /// The role: viewer, editor, evaluator or admin.
    #[arg(long, default_value = "viewer")]
    role: String,
    /// A vault that the token is valid for; may be given more than once.
    #[arg(long = "vault", value_name = "VAULT")]
    vaults: Vec<String>,
    /// Lifetime in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    lasts: u64,
}

fn main() -> anyhow::Result<()> {
    let args = SignTokenArgs::parse();
    let secret = std::fs::read_to_string(&args.secret_file).context("the secret cannot be read")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut claims = json!({
        "iss": args.issuer,
        "aud": args.audience,
        "sub": args.user,
        "role": args.role,
        "iat": now,
        "exp": now + args.lasts,
    });
    if !args.vaults.is_empty() {
        claims["vaults"] = json!(args.vaults);
    }
    let head = json!({ "alg": "HS256", "typ": "JWT" });
    let encoded = |part: serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encoded(head), encoded(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.trim().as_bytes());
    let signature = hmac::sign(&key, text.as_bytes());
    println!("{text}.{}", URL_SAFE_NO_PAD.encode(signature));
    Ok(())
}
