#include "store/tables/sign_ins.h"

#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

TokenRow Token(const std::string& id, const std::string& name, int64_t expire_us = 0) {
  TokenRow row;
  row.id = id;
  row.name = name;
  row.role = "viewer";
  row.hash = std::string(32, 'h');
  row.expire_us = expire_us;
  return row;
}

TEST_CASE("Sign-ins: a name belongs to one person, or to tokens that no sign-in made", "[store][stores]") {
  OneStore one;
  SignInTable table(one.store->database());
  CHECK_FALSE(Get(table.Find("i", "7")).has_value());
  const PersonRow ana{"i", "7", "ana", 5};
  REQUIRE(table.Insert(ana).ok());
  CHECK(Get(table.Find("i", "7")) == ana);
  CHECK_FALSE(Get(table.Find("j", "7")).has_value());
  CHECK_FALSE(Get(table.AnotherHas(ana)));
  CHECK(Get(table.AnotherHas({"j", "7", "ANA", 5})));
  CHECK_FALSE(table.Insert({"j", "7", "ana", 6}).ok());
  REQUIRE(table.RemoveAnother({"j", "7", "Ana", 6}).ok());
  REQUIRE(table.Insert({"j", "7", "Ana", 6}).ok());
  CHECK_FALSE(Get(table.Find("i", "7")).has_value());
  REQUIRE(table.Rename({"j", "7", "ben", 0}).ok());
  CHECK(Get(table.Find("j", "7")) == PersonRow{"j", "7", "ben", 6});

  REQUIRE(one.store->tokens.Insert(Token("00000001", "ben", 100)).ok());
  CHECK(Get(table.TokenHas("Ben")));
  REQUIRE(table.PutToken("00000001").ok());
  CHECK_FALSE(Get(table.TokenHas("ben")));
  CHECK(Get(table.HasToken("00000001")));
  CHECK_FALSE(Get(table.HasToken("00000002")));
}

// C.UTF-8, the locale of the test's PostgreSQL, has another rule for É than C.
TEST_CASE("Sign-ins: names are compared without regard to the case of ASCII's letters", "[store][stores]") {
  OneStore one;
  SignInTable table(one.store->database());
  REQUIRE(one.store->tokens.Insert(Token("00000001", "Élodie")).ok());
  CHECK(Get(table.TokenHas("Élodie")));
  CHECK(Get(table.TokenHas("ÉLODIE")));
  CHECK_FALSE(Get(table.TokenHas("élodie")));
  REQUIRE(one.store->tokens.Insert(Token("00000002", "Élodie", 100)).ok());
  REQUIRE(table.PutToken("00000002").ok());
  for (const char* name : {"Élodie", "ÉLODIE"})
    CHECK(Get(table.ValidTokens(name, 50)) == std::vector<std::string>{"00000002"});
  REQUIRE(table.Insert({"i", "7", "Ève", 5}).ok());
  const PersonRow other{"j", "7", "ÈVE", 6};
  CHECK(Get(table.AnotherHas(other)));
  REQUIRE(table.RemoveAnother(other).ok());
  CHECK_FALSE(Get(table.Find("i", "7")).has_value());
}

TEST_CASE("Sign-ins: their tokens go some time after their end, and no others", "[store][stores]") {
  OneStore one;
  SignInTable table(one.store->database());
  for (const TokenRow& row : {Token("00000001", "ana", 100), Token("00000002", "ana", 300),
                              Token("00000003", "ana", 300), Token("00000004", "robot", 100)})
    REQUIRE(one.store->tokens.Insert(row).ok());
  for (const char* id : {"00000001", "00000002", "00000003"}) REQUIRE(table.PutToken(id).ok());
  REQUIRE(one.store->tokens.Revoke("00000002", 150).ok());
  CHECK(Get(table.ValidTokens("Ana", 99)) == std::vector<std::string>{"00000001", "00000003"});
  CHECK(Get(table.ValidTokens("ana", 100)) == std::vector<std::string>{"00000003"});
  CHECK(Get(table.ValidTokens("robot", 50)).empty());  // no sign-in made it
  REQUIRE(table.RemoveTokensBefore(200).ok());
  std::vector<std::string> left;
  for (const TokenRow& row : Get(one.store->tokens.List())) left.push_back(row.id);
  CHECK(left == std::vector<std::string>{"00000003", "00000004"});
  CHECK_FALSE(Get(table.HasToken("00000001")));
}

}  // namespace
}  // namespace winnow
