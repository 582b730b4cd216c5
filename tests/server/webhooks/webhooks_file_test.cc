#include "server/webhooks/webhooks_file.h"

#include <fstream>

#include "base/status_text.h"
#include "server/webhooks/post.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

struct HooksFile {
  HooksFile() { std::ofstream(folder.file("key")) << "0123456789abcdef\n"; }
  absl::StatusOr<std::vector<DeclaredWebhook>> Read(const std::string& webhook) {
    std::ofstream(folder.file("hooks.json")) << "{\"webhooks\": [" << webhook << "]}";
    return ReadWebhooksFile(folder.file("hooks.json"));
  }
  std::string secret() const { return "\"secret_file\": \"" + folder.file("key") + "\""; }
  TempFolder folder;
};

TEST_CASE("Webhooks file: a webhook has its fields, and the defaults of others", "[server]") {
  HooksFile file;
  const auto read = file.Read(R"({"name": "chat", "url": "https://chat.example/x", "events": ["JOB_ENDED"],)"
                              R"("jobs": "mnist-*", "first_wait_seconds": 0.5, )" +
                              file.secret() + "}");
  INFO(read.status().ToString());
  REQUIRE(read.ok());
  const DeclaredWebhook& webhook = read->front();
  CHECK(webhook.secret == "0123456789abcdef");
  CHECK(webhook.events == std::set<v1::Event::Kind>{v1::Event::JOB_ENDED});
  CHECK(webhook.jobs == "mnist-*");
  CHECK(webhook.first_wait == std::chrono::milliseconds(500));
  CHECK(webhook.timeout == std::chrono::seconds(10));
  const auto all = file.Read(R"({"name": "chat", "url": "http://a", )" + file.secret() + "}");
  REQUIRE(all.ok());
  CHECK(all->front().events.size() == 5);
}

TEST_CASE("Webhooks file: every error is named with the field, the value and what was expected", "[server]") {
  HooksFile file;
  const auto told = [&](const std::string& webhook) { return MessageOf(file.Read(webhook).status()); };
  CHECK_THAT(told(R"({"name": "A b", "url": "ftp://x", "events": ["DONE"], "colour": 1})"),
             Catch::Contains("webhooks[0].name: is \"A b\"") &&
                 Catch::Contains("webhooks[0].url: is \"ftp://x\"") &&
                 Catch::Contains("has \"DONE\"; expected BEST_IMPROVED") && Catch::Contains("secret_file") &&
                 Catch::Contains("colour"));
  const std::string good = R"({"name": "a", "url": "http://a", )" + file.secret() + "}";
  CHECK_THAT(told(good + "," + good),
             Catch::Contains("webhooks[1].name: is \"a\", which another webhook has"));
  std::ofstream(file.folder.file("key")) << "short\n";
  CHECK_THAT(told(good), Catch::Contains("has 5 bytes; expected at least 16"));
}

TEST_CASE("Webhooks file: others see scheme, host and port of a URL, not what may be secret", "[server]") {
  CHECK(AddressOfUrl("https://hooks.example:8443/T0/secret?key=1") == "https://hooks.example:8443");
  CHECK(AddressOfUrl("http://user:password@host/x") == "http://host");
  CHECK(AddressOfUrl("http://host") == "http://host");
}

TEST_CASE("Webhooks: the signature is HMAC-SHA256 of the time and the body", "[server]") {
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
  CHECK(SignatureOf("0123456789abcdef", 1700000000, "{\"a\":1}") ==
        "sha256=9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23");
}

}  // namespace
}  // namespace winnow
