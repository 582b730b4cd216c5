# Every library Winnow builds with, all packaged by Debian 12 (scripts/install-packages.sh installs them).
# A version is the oldest that is known to work.

find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)  # module mode: Debian ships no config package
find_package(absl REQUIRED CONFIG)
find_package(gRPC 1.51 REQUIRED CONFIG)
find_package(Boost 1.74 REQUIRED)  # headers only
find_package(SQLite3 3.40 REQUIRED)
set(PostgreSQL_ADDITIONAL_VERSIONS 15)
find_package(PostgreSQL 15 REQUIRED)  # libpq
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.11 REQUIRED CONFIG)
find_package(fmt 9.1 REQUIRED CONFIG)
find_package(spdlog 1.10 REQUIRED CONFIG)
find_package(CLI11 2.1 REQUIRED CONFIG)
find_package(ZLIB 1.2.13 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(CURL 7.88 REQUIRED)  # SigV4 with headers of its own
find_package(LibXml2 2.9 REQUIRED)
find_package(LibArchive 3.6 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core>=1.0)  # its config package asks for more
pkg_check_modules(CJOSE REQUIRED IMPORTED_TARGET cjose>=0.6.2)  # signatures of ID tokens
pkg_check_modules(NLOPT REQUIRED IMPORTED_TARGET nlopt>=2.7)  # L-BFGS with bounds

find_package(yaml-cpp 0.7 REQUIRED CONFIG)  # kubeconfigs, imported jobs
add_library(YAML::YAML ALIAS yaml-cpp)

find_library(CSV_LIBRARY csv REQUIRED)  # ships neither a config package nor a pkg-config file
find_path(CSV_INCLUDE csv.h REQUIRED)
add_library(CSV::CSV UNKNOWN IMPORTED)
set_target_properties(CSV::CSV PROPERTIES IMPORTED_LOCATION ${CSV_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CSV_INCLUDE})

# Its config package links the shared library; the headers alone need none.
find_path(TOML_INCLUDE toml++/toml.h REQUIRED)
file(STRINGS ${TOML_INCLUDE}/toml++/impl/version.h TOML_VERSION REGEX "TOML_LIB_(MAJOR|MINOR) +[0-9]+")
string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*([0-9]+).*" "\\1.\\2" TOML_VERSION "${TOML_VERSION}")
if(TOML_VERSION VERSION_LESS 3.3)
  message(FATAL_ERROR "toml++ ${TOML_VERSION} is too old; expected 3.3 or newer (libtomlplusplus-dev)")
endif()
add_library(TOML::TOML INTERFACE IMPORTED)
set_target_properties(TOML::TOML PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${TOML_INCLUDE})

if(WINNOW_TESTS)
  find_package(Catch2 2.13 REQUIRED CONFIG)
  include(Catch)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
