#!/bin/sh
# browser.sh BUILD - drives the page of BUILD/centra in Chromium, with playwright-core from npm, which is kept in the build
# folder. Screenshots stay in BUILD/browser/shots. Exit status 77, with a line that says so, where something is missing.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
version=1.65.0
skip() { echo "browser: SKIPPED: $1"; exit 77; }
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$browser" ] || skip "there is no chromium (Debian: chromium)"
command -v node > /dev/null 2>&1 || skip "there is no node (Debian: nodejs)"
command -v npm > /dev/null 2>&1 || skip "there is no npm"
"$build/centra" serve --port 99999 2>&1 | grep -q "has no server" && skip "this build has no server"
mkdir -p "$build/browser"
if ! [ -d "$build/browser/node_modules/playwright-core" ]; then
    npm install --silent --no-audit --no-fund --no-save --prefix "$build/browser" "playwright-core@$version" > "$build/browser/npm.log" 2>&1 ||
        skip "npm could not install playwright-core $version: $(tail -n 1 "$build/browser/npm.log")"
fi
rm -rf "$build/browser/shots"
mkdir -p "$build/browser/shots"
CENTRA_BUILD=$build CHROMIUM=$browser node tests/browser/run.mjs
