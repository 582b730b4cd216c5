// Who a person is by a provider's claims, and what the settings of signing in may be.

#include "server/oidc/person.h"

#include <fstream>

#include "server/oidc/pending.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

using nlohmann::json;

OidcSettings Settings() {
  OidcSettings settings;
  settings.issuer = "https://id.example";
  settings.client.id = "winnow";
  settings.roles = {"submitter=research", "admin=ops=all"};
  return settings;
}

json Ana() {
  return {
      {"sub", "7"}, {"email", "ana@lab.example"}, {"email_verified", true}, {"groups", {"research", "x"}}};
}

std::string Problem(const std::function<void(OidcSettings&)>& change) {
  OidcSettings settings = Settings();
  change(settings);
  const absl::Status status = ReadOidcSettings(settings);
  return std::string(status.message().data(), status.message().size());
}

}  // namespace

TEST_CASE("Person: name and role come from the claims, the highest role counts", "[oidc]") {
  OidcSettings settings = Settings();
  OidcPerson person = ReadPerson(Ana(), settings);
  CHECK(person.refused == "");
  CHECK(person.name == "ana@lab.example");
  CHECK(person.subject == "7");
  CHECK(person.role == "submitter");
  json claims = Ana();
  claims["groups"] = {"ops=all", "research"};
  CHECK(ReadPerson(claims, settings).role == "admin");
  claims["groups"] = "research";  // some providers write one group as a text
  CHECK(ReadPerson(claims, settings).role == "submitter");
  claims["groups"] = {"x"};
  CHECK_THAT(ReadPerson(claims, settings).refused, Catch::Contains("none of the groups of --oidc-role"));
  claims.erase("groups");  // no scope asks for it, or the claim has another name
  CHECK_THAT(ReadPerson(claims, settings).refused,
             Catch::Contains("no claim \"groups\"; check --oidc-groups-claim and --oidc-scopes"));
  settings.default_role = "viewer";
  CHECK(ReadPerson(claims, settings).role == "viewer");
  settings.name_claim = "preferred_username";
  claims = {{"sub", "7"}, {"preferred_username", "ana"}, {"realm_access", {{"roles", {"research"}}}}};
  settings.groups_claim = "/realm_access/roles";
  CHECK(ReadPerson(claims, settings).name == "ana");
  CHECK(ReadPerson(claims, settings).role == "submitter");
}

TEST_CASE("Person: an address counts only if it is verified, and of a domain that is let in", "[oidc]") {
  OidcSettings settings = Settings();
  settings.domains = {"lab.example"};
  const auto refused = [&](const char* name, const json& value) {
    json claims = Ana();
    claims[name] = value;
    return !ReadPerson(claims, settings).refused.empty();
  };
  CHECK_FALSE(refused("email_verified", "true"));
  CHECK(refused("email_verified", false));
  CHECK(refused("email_verified", "false"));
  CHECK(refused("email_verified", nullptr));
  CHECK(refused("email_verified", 1));
  CHECK_FALSE(refused("email", "ana@LAB.example"));
  for (const char* email :
       {"ana@lab.example.evil", "ana@evil-lab.example", "lab.example", "ana@x.lab.example", ""})
    CHECK(refused("email", email));
  // Also if the name is another claim.
  settings.name_claim = "preferred_username";
  json claims = Ana();
  claims["preferred_username"] = "ana";
  CHECK(ReadPerson(claims, settings).refused == "");
  claims["email_verified"] = false;
  CHECK(ReadPerson(claims, settings).refused != "");
  settings = Settings();
  settings.groups = {"y", "z"};
  CHECK_THAT(ReadPerson(Ana(), settings).refused, Catch::Contains("--oidc-allow-group"));
}

TEST_CASE("Person: some names cannot be a person's, and a granted one replaces what the provider says",
          "[oidc]") {
  OidcSettings settings = Settings();
  settings.name_claim = "name";
  for (const char* name : {"", " ana", "ana ", "a\nb", "allocation 7", "token 3f2a91c4", "\xff", "a\x7f"}) {
    json claims = Ana();
    claims["name"] = name;
    INFO(name);
    CHECK_THAT(ReadPerson(claims, settings).refused, Catch::Contains("name"));
  }
  json claims = Ana();
  claims["name"] = std::string(129, 'a');
  CHECK(ReadPerson(claims, settings).refused != "");
  claims["name"] = "Änne Öz";
  CHECK(ReadPerson(claims, settings).refused == "");
  settings.persons = {"robot=8", "ben=7"};
  CHECK(ReadPerson(claims, settings).name == "ben");
  CHECK(ReadPerson(claims, settings).granted);
  settings.projects = {"vision=research", "vision=y", "speech=z"};
  CHECK(ReadPerson(claims, settings).projects ==
        std::vector<std::pair<std::string, bool>>{{"vision", true}, {"speech", false}});
}

TEST_CASE("Sign-in settings: what is wrong is named", "[oidc]") {
  const auto says = [](const char* text) { return Catch::Contains(text); };
  CHECK(Problem([](OidcSettings&) {}) == "");
  CHECK_THAT(Problem([](auto& s) { s.issuer = "http://id.example"; }), says("--oidc-issuer"));
  CHECK(Problem([](auto& s) { s.issuer = "http://127.0.0.1:3000"; }) == "");
  CHECK(Problem([](auto& s) { s.issuer = "http://[::1]:3000/realms/x"; }) == "");
  for (const char* odd :
       {"id.example", "ftp://id.example", "https://", "https://u:p@id.example", "https://id.example?x"})
    CHECK_THAT(Problem([&](auto& s) { s.issuer = odd; }), says("--oidc-issuer"));
  CHECK_THAT(Problem([](auto& s) { s.client.id = ""; }), says("--oidc-client-id"));
  CHECK_THAT(Problem([](auto& s) { s.issuer = ""; }), says("--oidc-client-id"));
  CHECK_THAT(Problem([](auto& s) { s.client.secret_file = "/nowhere"; }), says("--oidc-client-secret-file"));
  CHECK_THAT(Problem([](auto& s) { s.roles = {"owner=research"}; }), says("--oidc-role"));
  CHECK_THAT(Problem([](auto& s) { s.roles = {"worker=research"}; }), says("--oidc-role"));
  CHECK_THAT(Problem([](auto& s) { s.roles = {"admin"}; }), says("--oidc-role"));
  CHECK_THAT(Problem([](auto& s) { s.default_role = "worker"; }), says("--oidc-default-role"));
  CHECK_THAT(Problem([](auto& s) { s.roles.clear(); }), says("nobody could sign in"));
  CHECK_THAT(Problem([](auto& s) { s.domains = {"@lab.example"}; }), says("--oidc-domain"));
  CHECK_THAT(Problem([](auto& s) { s.scopes = "email"; }), says("--oidc-scopes"));
  CHECK_THAT(Problem([](auto& s) { s.projects = {"vision"}; }), says("--oidc-project"));
  CHECK_THAT(Problem([](auto& s) { s.persons = {"=7"}; }), says("--oidc-person"));
  TempFolder folder;
  std::ofstream(folder.file("secret")) << "of the client\n";
  OidcSettings settings = Settings();
  settings.client.secret_file = folder.file("secret");
  REQUIRE(ReadOidcSettings(settings).ok());
  CHECK(settings.client.secret == "of the client");
}

TEST_CASE("Pending sign-ins: each is taken once and for a while, and the oldest goes when there are many",
          "[oidc]") {
  Pending<int> pending(2, 100);
  pending.Put("a", 1, 0);
  pending.Put("b", 2, 10);
  CHECK(pending.Take("a", 20) == 1);
  CHECK(pending.Take("a", 20) == std::nullopt);
  pending.Put("c", 3, 30);
  pending.Put("d", 4, 40);
  CHECK(pending.Take("b", 41) == std::nullopt);
  CHECK(pending.Update("c", 42, [](int& value) { value = 5; }));
  CHECK(pending.Take("c", 43) == 5);
  CHECK(pending.Take("d", 139) == 4);
  pending.Put("e", 6, 200);
  CHECK_FALSE(pending.Update("e", 300, [](int&) {}));
}

}  // namespace winnow
