#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>

#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {

// Databases for the tests that hold for every kind: files of a folder; or, where WINNOW_TEST_POSTGRES is the
// address of a PostgreSQL database of a test (tests/support/with_postgres.py), schemas of it, which stay
// until its server is removed.
class Places {
 public:
  static bool postgres() { return std::getenv("WINNOW_TEST_POSTGRES") != nullptr; }

  // The name of a database that is empty at first.
  std::string Name(const std::string& name) {
    if (!postgres()) return folder_.file(name);
    const std::string address = std::getenv("WINNOW_TEST_POSTGRES");
    std::string schema = "t";  // of the folder's name, which is new
    const std::string folder = folder_.path().filename().string();
    for (const char c : folder.substr(folder.rfind('-') + 1) + name) {
      schema += std::isalnum(static_cast<unsigned char>(c)) != 0
                    ? std::to_string(static_cast<unsigned char>(c))
                    : "_";
    }
    schema.resize(std::min<size_t>(schema.size(), 60));
    auto database = Database::Open(address, OpenMode::kReadWrite);
    INFO(database.status().ToString());
    REQUIRE(database.ok());
    REQUIRE((*database)->Execute("CREATE SCHEMA IF NOT EXISTS " + schema).ok());
    return address + "&options=-csearch_path%3D" + schema;
  }

 private:
  TempFolder folder_;
};

// A database that is only opened once.
struct OneStore {
  OneStore() {
    auto opened = Store::Open(Places::postgres() ? places.Name("a.db") : ":memory:");
    INFO(opened.status().ToString());
    REQUIRE(opened.ok());
    store = *std::move(opened);
  }
  Places places;
  std::unique_ptr<Store> store;
};

}  // namespace winnow
