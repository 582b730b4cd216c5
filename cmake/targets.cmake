# How targets are made here: winnow_library, winnow_binary and winnow_test give each the same warnings,
# include root (the repository) and sanitizers, so that a folder's CMakeLists.txt lists only sources and links.

# What a target states in LINK is the include rule: tests/architecture checks the sources against it.

add_library(winnow_options INTERFACE)
target_include_directories(winnow_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(winnow_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)
target_compile_definitions(winnow_options INTERFACE WINNOW_VERSION="${PROJECT_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 at -O3 raises these falsely: inside fmt's buffers, std::string's operator+ (GCC bug 105651), and variants
  # that are moved.
  target_compile_options(winnow_options INTERFACE -Wno-stringop-overflow -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(winnow_options INTERFACE -Wthread-safety)
endif()

# Most of a build's time goes into headers: the preset release compiles sixteen files of a library, or of a test, as one. A
# file still includes what it uses, which the other presets show; in the anonymous namespaces of a library, and of a test,
# no name is there twice.
option(WINNOW_UNITY "Compile sixteen files of a library or a test as one, which takes less than half the time" OFF)
if(WINNOW_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
  # A machine of many processors and little memory compiles fewer at a time.
  cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
  math(EXPR compilers "${memory_mib} / 1500")
  if(compilers LESS 1)
    set(compilers 1)
  endif()
  set_property(GLOBAL PROPERTY JOB_POOLS compilers=${compilers})
  set(CMAKE_JOB_POOL_COMPILE compilers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # What a class of one .cc file holds of that file's own; GCC takes all but the first for headers.
    target_compile_options(winnow_options INTERFACE -Wno-subobject-linkage)
    # How much memory, in KiB, GCC uses before it first looks for what it can free: at its own 128 MiB a sixth of a build's
    # time goes into looking. A file then takes up to 250 MB more, 1.8 GB at most.
    add_compile_options("SHELL:--param ggc-min-heapsize=524288")
  endif()
endif()

if(WINNOW_SANITIZE)
  add_compile_options(-fsanitize=${WINNOW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WINNOW_SANITIZE})
endif()

# Hardening: stack protector, checked calls of the C library (FORTIFY), full RELRO, and control-flow protection on x86-64.
# tests/architecture checks the programs for it. Sanitizers do not go with it, and FORTIFY needs an optimising compiler.
if(NOT WINNOW_SANITIZE AND NOT WINNOW_FUZZ)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    add_compile_options(-fcf-protection)
  endif()
  add_link_options(-Wl,-z,relro -Wl,-z,now)
endif()

if(WINNOW_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "WINNOW_FUZZ needs clang: use the preset \"fuzz\"")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts which branches an input takes
endif()

# winnow_library(<name> SOURCES <file>... [LINK <target>...]): base/ goes with every library.
function(winnow_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE winnow_options)
  if(NOT name STREQUAL winnow_base)
    target_link_libraries(${name} PUBLIC winnow_base)
  endif()
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()

# winnow_hooked(<file>...): sources of this folder's library that tests/simulation compiles once more, with the hooks of
# base/mutant.h switched on. They are objects of their own in every build, so that one without tests compiles the same
# files together as one with tests.
function(winnow_hooked)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# winnow_binary(<name> SOURCES <file>... [LINK <target>...]): lands in bin/ under <name>.
function(winnow_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} winnow_options)
endfunction()

# winnow_forked_binary: a program that forks itself for each trial. The kernel copies the mappings of its libraries each time,
# so those of absl, of which there are two dozen, become parts of the program. mold takes what it finds first;
# other linkers take the shared libraries as ever.
function(winnow_forked_binary name)
  winnow_binary(${name} ${ARGN})
  if(MOLD_PROGRAM AND NOT WINNOW_SANITIZE)
    get_target_property(library absl::base LOCATION)
    cmake_path(GET library PARENT_PATH folder)
    file(GLOB archives ${folder}/libabsl_*.a)
    target_link_options(${name} PRIVATE -Wl,--as-needed ${archives})
  endif()
endfunction()

# winnow_test(<name> SOURCES <file>... [LINK <target>...] [BINARIES <target>...] [LABEL <label>] [TIMEOUT <seconds>]):
# a Catch2 program whose cases ctest lists one by one; BINARIES are programs the test runs, built before it.
# The label is "process" with BINARIES and "unit" without, unless it is given; CONTRIBUTING.md lists all labels.
function(winnow_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINK;BINARIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
    if(ARG_BINARIES)
      set(ARG_LABEL process)
    endif()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE winnow_test_main ${ARG_LINK} winnow_options)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests-bin UNITY_BUILD ${WINNOW_UNITY})
  if(ARG_BINARIES)
    add_dependencies(${name} ${ARG_BINARIES})
  endif()
  # A name that matches no test would pass.
  catch_discover_tests(${name} TEST_PREFIX "${name}: " EXTRA_ARGS -w NoTests
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABEL}" SKIP_RETURN_CODE 77)
endfunction()

# winnow_heavy_test(<name> <seconds>): a test that keeps a processor busy for about so long. Two of them run at a time, and ctest
# begins the longest first. (With PROCESSORS 2 they would wait until no small test is left, since each place that becomes free
# goes to one of those.)
set_property(GLOBAL PROPERTY WINNOW_HEAVY_SECONDS 0 0)  # of each of the two
function(winnow_heavy_test name seconds)
  get_property(sums GLOBAL PROPERTY WINNOW_HEAVY_SECONDS)
  list(GET sums 0 first)
  list(GET sums 1 second)
  if(second LESS first)
    set(processor 1)
    math(EXPR second "${second} + ${seconds}")
  else()
    set(processor 0)
    math(EXPR first "${first} + ${seconds}")
  endif()
  set_property(GLOBAL PROPERTY WINNOW_HEAVY_SECONDS ${first} ${second})
  set_tests_properties(${name} PROPERTIES RESOURCE_LOCK processor_${processor} COST ${seconds})
endfunction()
