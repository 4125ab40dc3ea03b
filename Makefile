# Two commands do everything on a fresh Debian 12 machine: `make demo` and `make test`.
PRESET ?= default
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)

.PHONY: all demo test bench build setup install clean address thread gcc

all: build

setup:
	@scripts/setup

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json | setup
	@cmake --preset $(PRESET) >$(BUILD).configure.log 2>&1 || { mkdir -p $(BUILD); cat $(BUILD).configure.log; exit 1; }

build: setup
	@mkdir -p build
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) -- -j$(JOBS)

# Every kernel of the demonstration on every device found, checked against float64.
demo: build
	@$(BUILD)/bin/teeny-demo

test: build
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j$(JOBS)

bench: build
	@$(BUILD)/bin/teeny bench --device cpu

address thread gcc:
	@$(MAKE) --no-print-directory PRESET=$@ test

install: build
	@cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

clean:
	@rm -rf build
