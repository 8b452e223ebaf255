#!/bin/sh
# Makes sure that what the build needs is on this machine; silent and quick when it is.
# Installs what is missing with apt-get where it may; otherwise says what to install and exits 1.
# Usage: tools/setup.sh [format|fuzz]      format: also clang-format; fuzz: also clang

set -u
verb=${1:-build}

have() { command -v "$1" >/dev/null 2>&1; }

# A header in the compiler's usual places, or below a prefix that CMake is told to search.
have_header() {
  for prefix in /usr /usr/local $(printf '%s' "${CMAKE_PREFIX_PATH:-}" | tr ':;' '  '); do
    [ -e "$prefix/include/$1" ] && return 0
  done
  return 1
}

have_cmake() {
  have cmake || return 1
  version=$(cmake --version) || return 1
  version=${version#cmake version }
  version=${version%%[!0-9.]*}
  major=${version%%.*}
  minor=${version#*.}
  minor=${minor%%.*}
  [ "$major" -gt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -ge 25 ]; }
}

# Every package, the test for it, and why it is needed.
list_missing() {
  have g++ || echo "g++: compiles the C++20 sources"
  have_cmake || echo "cmake: configures the build, 3.25 or newer"
  have ninja || echo "ninja-build: runs the build"
  have_header gtest/gtest.h || echo "libgtest-dev: the tests are written with GoogleTest"
  have_header benchmark/benchmark.h || echo "libbenchmark-dev: the benches use Google Benchmark"
  have_header nlohmann/json.hpp || echo "nlohmann-json3-dev: io/ reads and writes JSON with it"
  have_header toml++/toml.h || echo "libtomlplusplus-dev: train/ reads configs with it"
  have_header png.h || echo "libpng-dev: train/ reads PNG pictures with it"
  have_header jpeglib.h || echo "libjpeg-dev: train/ reads JPEG pictures with it"
  have python3 || echo "python3: runs the check of the rooms, a test"
  if [ "$verb" = fuzz ]; then
    have clang++ || echo "clang: compiles the fuzz targets, with libFuzzer"
  fi
  if [ "$verb" = format ]; then
    have clang-format || echo "clang-format: formats the sources"
  fi
}

missing=$(list_missing)
[ -z "$missing" ] && exit 0

packages=$(printf '%s\n' "$missing" | sed 's/:.*//' | tr '\n' ' ')
packages=${packages% }

# Prints the last words: what to install by hand, and why.
give_up() {
  {
    echo "setup: $1; these packages are missing:"
    printf '%s\n' "$missing" | sed 's/^/  /'
    echo "setup: install them (Debian 12 names), then run make again:"
    echo "  apt-get update && apt-get install --no-install-recommends -y $packages"
  } >&2
  exit 1
}

have apt-get || give_up "there is no apt-get here"
as_root=
if [ "$(id -u)" != 0 ]; then
  if have sudo && sudo -n true >/dev/null 2>&1 </dev/null; then
    as_root="sudo -n"
  else
    give_up "not root, and no sudo without a password"
  fi
fi

apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}
# shellcheck disable=SC2086  # the packages are words
install() { apt install -y --no-install-recommends $packages; }

printf '%s\n' "$missing" | sed 's/^/setup: installing /'
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# Package lists that are absent or out of date make the first try fail: then update, once.
if ! install >"$log" 2>&1; then
  echo "setup: updating the package lists"
  if ! { apt update && install; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    give_up "apt-get failed"
  fi
fi

missing=$(list_missing)
[ -z "$missing" ] || give_up "apt-get ran, and what it installed is not enough"
