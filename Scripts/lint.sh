#!/usr/bin/env bash
# Source style: Swift by swift-format, shell by shellcheck where that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

swift format lint --strict -r Sources Tests Package.swift
mapfile -t scripts < <(grep -rlE '^#!.*(bash|sh)$' .ci Scripts Tests/e2e Fuzz Benchmarks 2>/dev/null)
for script in "${scripts[@]}"; do bash -n "$script"; done
if command -v shellcheck >/dev/null; then
  shellcheck "${scripts[@]}"
fi
echo "style: ${#scripts[@]} scripts and all Swift files are in order"
