# minifut: make, make demo, make test, make check, make test-compiler (-device, -tools, -packaging), make test-opencl, make test-fresh RELEASE=, make fuzz SEED= N= MINUTES= RANKS= KIND=, make install PREFIX=, make uninstall, make deb, make wheel, make vsix, make asan, make format
# Objects go to build/ (BUILD=... for another folder); ./minifut is the compiler.

CC      ?= cc
BUILD   ?= build
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc)
# Make's own rules would take parse.c for what yacc makes of parse.y, where that is newer.
MAKEFLAGS += --no-builtin-rules
BIN     ?= minifut
# -O2 takes half as long again to build a compiler that is as fast to a few percent; what parses and checks programs, which
# people wait for in editors, does with a twelfth fewer instructions.
OPT     ?= -O1 -g1
QUICK   := base frontend/syntax frontend/types frontend/names frontend/check
WARN    := -std=c11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
# Commands are shown with V=1.
ifneq ($(V),1)
Q := @
say = @echo "  $(1)  $(2)"
endif
CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD) -MMD -MP
LIBS    := -lcjson -lmd -lm -ldl -lpthread
ALLFLAGS = $(WARN) $(OPT) $(CFLAGS)

DIRS    := base command common packages prove ir ad interp exp size cost memory frontend docgen fmt flatten kir plan kernels host emit level2 autotune pipeline testing project lsp repl
SRC     := $(wildcard main.c $(DIRS:%=%/*.c) $(DIRS:%=%/*/*.c)) $(addprefix runtime/drivers/,dev_opencl_find.c dev_opencl_load.c symbols.c dev_find.c)
GEN     := $(BUILD)/frontend/syntax/parse.tab.c $(BUILD)/frontend/syntax/lex.yy.c
OBJ     := $(SRC:%.c=$(BUILD)/%.o) $(GEN:.c=.o)
# The runtime of programs, and that of shared libraries, compiled; their names tell which text it is.
DIGEST  := $(shell sh runtime/bundle.sh --digest)
RTLIB   := $(BUILD)/libminifut_rt-$(DIGEST).a
SOLIB   := $(BUILD)/libminifut_so-$(DIGEST).a
LIBOBJ  := $(filter-out $(BUILD)/main.o,$(OBJ))

all: $(BIN)

$(filter $(QUICK:%=$(BUILD)/%/%),$(OBJ)): OPT := $(OPT:-O1=-O2)
$(BIN): $(OBJ) | $(RTLIB) $(SOLIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c | prerequisites
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(ALLFLAGS) -c -o $@ $<

# Scanner and parser: generated code is compiled with fewer warnings.
$(BUILD)/frontend/syntax/parse.tab.c: frontend/syntax/parse.y | prerequisites
	@mkdir -p $(@D)
	$(call say,BISON,$<)
	$(Q)bison -Werror -o $@ --header=$(BUILD)/frontend/syntax/parse.tab.h $<
$(BUILD)/frontend/syntax/lex.yy.c: frontend/syntax/lex.l $(BUILD)/frontend/syntax/parse.tab.c
	$(call say,FLEX,$<)
	$(Q)flex -o $@ $<
$(GEN:.c=.o): $(BUILD)/frontend/syntax/%.o: $(BUILD)/frontend/syntax/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 -Wall -Wno-unused-function -Wno-sign-compare $(OPT) $(CFLAGS) -c -o $@ $<
$(BUILD)/frontend/syntax/parse.tab.h: $(BUILD)/frontend/syntax/parse.tab.c
$(patsubst %.c,$(BUILD)/%.o,$(wildcard frontend/*.c frontend/*/*.c fmt/*.c)): | $(BUILD)/frontend/syntax/parse.tab.h

# The prelude, as string constants.
$(BUILD)/frontend/%_text.h: frontend/%.sf
	@mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@
$(BUILD)/frontend/prelude.o: $(BUILD)/frontend/prelude_text.h $(BUILD)/frontend/prelude_modules_text.h

# The text of the runtime, for the programs that the compiler writes.
$(BUILD)/runtime_embed.c: runtime/bundle.sh $(wildcard runtime/*/*.[ch] runtime/kernels/*.cl common/*.[ch] common/*.def)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sh runtime/bundle.sh --c > $@.tmp && mv $@.tmp $@
$(BUILD)/emit/embed.o: $(BUILD)/runtime_embed.c

# Those of older texts go away.
$(RTLIB): $(BUILD)/runtime_embed.c | prerequisites
	$(call say,CC,$@)
	$(Q)sh runtime/bundle.sh >$(BUILD)/runtime.c
	$(Q)$(CC) -std=gnu11 -O2 -DRT_API= -c -o $(BUILD)/runtime.o $(BUILD)/runtime.c
	$(Q)rm -f $(BUILD)/libminifut_rt-*.a && $(AR) rc $@ $(BUILD)/runtime.o

# Who loads several libraries has several runtimes: one library's functions are none of another's.
$(SOLIB): $(BUILD)/runtime_embed.c | prerequisites
	$(call say,CC,$@)
	$(Q)sh runtime/bundle.sh --library >$(BUILD)/runtime_so.c
	$(Q)$(CC) -std=gnu11 -O2 -fPIC '-DRT_API=__attribute__((visibility("hidden")))' -c -o $(BUILD)/runtime_so.o $(BUILD)/runtime_so.c
	$(Q)rm -f $(BUILD)/libminifut_so-*.a && $(AR) rc $@ $(BUILD)/runtime_so.o

# Asked for each time, but written only when it is another one: what is up to date stays so.
$(BUILD)/version_text.h: FORCE
	@mkdir -p $(@D)
	@text=$$(tools/version.sh) && echo "#define VERSION_TEXT \"$$text\"" >$@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@
$(BUILD)/base/version.o: $(BUILD)/version_text.h
FORCE:

prerequisites:
	@tools/prerequisites.sh build

# --- what people type -------------------------------------------------------------------------------

demo:
	@tools/prerequisites.sh build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BIN)
	@tools/demo.sh

# The suites, with LONG=1 all of them; those of a group (tests/suites); programs by OpenCL on its CPU, in versions and settings; and what a person runs before a commit.
GROUPS := test-compiler test-device test-tools test-packaging test-opencl
test $(GROUPS) check:
	@tools/prerequisites.sh $(if $(filter test-opencl,$@),opencl,test)
	@$(MAKE) --no-print-directory -j$(JOBS) $(BIN) unit-tests
	@tools/venv.sh $(BUILD)/venv
	@tests/run $(BUILD) $(patsubst test-%,%,$(filter-out test,$@))

# The compiler's own tests with a compiler built under AddressSanitizer and UBSan. PoCL's compiler takes
# the signals' stack of a thread that ASan would take down.
ASAN_SETS := detect_leaks=0:allocator_may_return_null=1:use_sigaltstack=0
ASAN := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
IN_ASAN = BUILD=$(BUILD)/asan BIN=$(BUILD)/asan/minifut OPT="-O1 -g -DARENA_DEBUG" WERROR= CFLAGS="$(ASAN)" LDFLAGS="$(ASAN)"
asan:
	@tools/prerequisites.sh test
	@$(MAKE) --no-print-directory -j$(JOBS) $(IN_ASAN) $(BUILD)/asan/minifut unit-tests
	@ASAN_OPTIONS=$(ASAN_SETS) MINIFUT=$(BUILD)/asan/minifut tests/run $(BUILD)/asan asan

# The paper's programs on small data sets, in four modes, checked: see bench/README.md.
bench: $(BIN)
	@tools/prerequisites.sh test
	@tools/venv.sh $(BUILD)/venv
	@$(BUILD)/venv/bin/python bench/suite.py --minifut ./$(BIN) run --small --work $(BUILD)/bench --runs 3

# Time and memory of the compiler itself on all programs here, against the limits.
bench-compile: $(BIN)
	@bench/compile_time.py ./$(BIN)

# Random programs, then mutated text and bytes, or, with RANKS=N, the programs on N ranks; with KIND=derivatives or
# KIND=nests such programs; see tests/README.md.
fuzz:
	@tools/prerequisites.sh test
	@$(MAKE) --no-print-directory -j$(JOBS) $(BIN)
ifneq ($(KIND),)
	@$(MAKE) --no-print-directory -j$(JOBS) $(IN_ASAN) $(BUILD)/asan/minifut
	@MINIFUT_VERIFY=each MINIFUT=$(abspath $(BIN)) MINIFUT_ASAN=$(abspath $(BUILD)/asan/minifut) \
	    nice -n 10 python3 tests/fuzz/run.py SEED=$(SEED) N=$(N) MINUTES=$(MINUTES) RANKS=$(RANKS) $(KIND)
else ifeq ($(RANKS),)
	@$(MAKE) --no-print-directory -j$(JOBS) $(IN_ASAN) $(BUILD)/asan/minifut $(BUILD)/asan/fuzz/bytes
	@MINIFUT_VERIFY=each MINIFUT=$(abspath $(BIN)) MINIFUT_ASAN=$(abspath $(BUILD)/asan/minifut) \
	    nice -n 10 python3 tests/fuzz/run.py SEED=$(SEED) N=$(N) MINUTES=$(MINUTES) BYTES=$(BUILD)/asan/fuzz/bytes
else
	@MINIFUT_VERIFY=each MINIFUT=$(abspath $(BIN)) nice -n 10 python3 tests/fuzz/run.py SEED=$(SEED) N=$(N) MINUTES=$(MINUTES) RANKS=$(RANKS)
endif

# Under $(DESTDIR)$(PREFIX); tools/install.sh says what goes where. Manual pages need lowdown: without it there are none.
install: $(BIN) man
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" tools/install.sh install $(BIN) $(BUILD)/man $(RTLIB) $(SOLIB)
	@echo "minifut is installed in $(DESTDIR)$(PREFIX)"
uninstall:
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" tools/install.sh uninstall

# The package for Debian and Ubuntu; test-deb installs it in a fresh root, as root.
deb:
	@tools/prerequisites.sh deb
	@$(MAKE) --no-print-directory -j$(JOBS) $(BIN)
	@$(MAKE) --no-print-directory man
	@tools/deb.sh $(BIN) $(BUILD)/man $(BUILD)/deb $(RTLIB) $(SOLIB)
test-deb: deb
	@tests/deb/fresh $(BUILD)
# The Python package, with the compiler in it, for `pip install`.
wheel:
	@command -v python3 >/dev/null || { echo "make wheel needs Python: apt-get install python3"; exit 1; }
	@tools/prerequisites.sh build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BIN)
	@rm -f $(BUILD)/wheel/*.whl
	@BUILD=$(BUILD) python3 python/backend.py $(BUILD)/wheel

# The commands of README.md in a fresh Debian, as root: make test-fresh RELEASE=trixie
test-fresh:
	@tests/fresh/run "$(RELEASE)" $(BUILD)

# The extension for VS Code: code --install-extension build/vsix/*.vsix
vsix:
	@python3 tools/vsix.py $(BUILD)/vsix

man: $(BIN)
	@mkdir -p $(BUILD)/man
	@if command -v lowdown >/dev/null; then tools/man.sh $(BIN) $(BUILD)/man; \
	 else echo "no manual pages are made: they need lowdown (apt-get install lowdown)"; fi

# Unit tests: each tests/unit/*_test.c is a program. Warnings are errors there, else nobody looks at them.
WERROR ?= -Werror
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*_test.c))
unit-tests: $(UNIT) $(BUILD)/fuzz/bytes
$(BUILD)/unit/%: tests/unit/%.c $(wildcard tests/unit/*.h) $(LIBOBJ)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALLFLAGS) $(WERROR) $(LDFLAGS) -o $@ $< $(LIBOBJ) $(LIBS)

$(BUILD)/fuzz/%: tests/fuzz/%.c $(LIBOBJ)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALLFLAGS) $(WERROR) $(LDFLAGS) -o $@ $< $(LIBOBJ) $(LIBS)

clean:
	rm -rf $(BUILD) $(BIN) demo

format:
	$$(command -v clang-format-14 || echo clang-format) -i $(wildcard *.[ch] $(DIRS:%=%/*.[ch]) $(DIRS:%=%/*/*.[ch]) runtime/*/*.[ch] tests/*/*.[ch])

-include $(OBJ:.o=.d)
.PHONY: FORCE check $(GROUPS) test-fresh bench bench-compile all clean format prerequisites demo test asan fuzz install uninstall deb wheel vsix test-deb man unit-tests
