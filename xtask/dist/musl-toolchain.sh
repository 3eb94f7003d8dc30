#!/bin/bash
# Makes a toolchain that builds static programs, from Debian packages and one of PyPI, for machines where rustup cannot fetch
# the standard library for musl. Elsewhere, `rustup target add x86_64-unknown-linux-musl` is all that is needed.
#
#   apt-get install rustc-web rust-web-src libstd-rust-web-dev musl-tools
#   xtask/dist/musl-toolchain.sh target/outside/musl
#   RUSTUP_TOOLCHAIN=$PWD/target/outside/musl cargo xtask dist --target x86_64-unknown-linux-musl
set -euo pipefail

target=x86_64-unknown-linux-musl
mkdir -p "$1"
folder=$(realpath "$1")
sources=(/usr/src/rustc-*/library)
source=${sources[-1]}
libraries=$folder/lib/rustlib/$target/lib
mkdir -p "$folder/bin" "$folder/std/src" "$libraries/self-contained"

# The standard library, compiled once. The variable tells cargo where its source is.
touch "$folder/std/src/lib.rs"
printf '[package]\nname = "nothing"\nedition = "2024"\n[workspace]\n' > "$folder/std/Cargo.toml"
(
    cd "$folder/std"
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT=$source CARGO_TARGET_DIR=$folder/build
    export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_INCREMENTAL=0
    # Bitcode, so that it takes part in the optimisation of whole programs; and no path of this machine.
    export RUSTFLAGS="-Cembed-bitcode=yes --remap-path-prefix=$source=/rustc/library --remap-path-prefix=$HOME/.cargo=/cargo"
    cargo build --release -Zbuild-std=std,panic_unwind,proc_macro --target "$target" --lib
)
find "$folder/build/$target/release/deps" -name '*.rlib' ! -name 'libnothing*' -exec cp {} "$libraries" \;

# What rustup brings beside it: the C library, the objects at both ends of a program, and a library that unwinds.
cp /usr/lib/x86_64-linux-musl/{crt1.o,Scrt1.o,rcrt1.o,crti.o,crtn.o,libc.a} "$libraries/self-contained"
for object in crtbegin.o crtbeginS.o crtend.o crtendS.o; do
    cp "$(gcc -print-file-name="$object")" "$libraries/self-contained"
done
python3 -m venv "$folder/zig"
"$folder/zig/bin/pip" install --quiet ziglang==0.17.0
echo 'int main() { try { throw 1; } catch (int) { return 0; } }' > "$folder/zig/throws.cpp"
export ZIG_GLOBAL_CACHE_DIR=$folder/zig/cache ZIG_LOCAL_CACHE_DIR=$folder/zig/cache
"$folder/zig/bin/python" -m ziglang c++ -target x86_64-linux-musl -static "$folder/zig/throws.cpp" -o "$folder/zig/throws"
find "$ZIG_GLOBAL_CACHE_DIR" -name libunwind.a -exec cp {} "$libraries/self-contained" \; -quit

printf '#!/bin/sh\nexec /usr/bin/rustc --sysroot %s "$@"\n' "$folder" > "$folder/bin/rustc"
chmod +x "$folder/bin/rustc"
ln -sf "$(rustup which cargo)" "$folder/bin/cargo"
ln -sf /usr/bin/rustdoc "$folder/bin/rustdoc"
ln -sfn /usr/lib/rustlib/x86_64-unknown-linux-gnu "$folder/lib/rustlib/x86_64-unknown-linux-gnu"
rm -r "$folder/build" "$folder/std"
ls "$libraries/self-contained/libunwind.a" > /dev/null
