#include "server/webhooks/webhooks_file.h"

#include <algorithm>
#include <fstream>

#include "base/status_text.h"
#include "server/webhooks/mail.h"
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
  CHECK(all->front().events.size() == 6);
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
  const std::string none = R"({"name": "a", "url": "http://a:99999/", "events": [], "tls_ca": ")" +
                           file.folder.file("key") + "\", " + file.secret() + "}";
  CHECK_THAT(told(none), Catch::Contains("webhooks[0].events: is [], so nothing would be sent") &&
                             Catch::Contains("webhooks[0].url: is \"http://a:99999/\"") &&
                             Catch::Contains("key\", which contains no certificate"));
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

TEST_CASE("Webhooks file: mail has its receivers and its sendmail", "[server]") {
  TempFolder folder;
  const auto read = [&folder](const std::string& mail) {
    std::ofstream(folder.file("hooks.json")) << "{\"mail\": [" << mail << "]}";
    return ReadWebhooksFile(folder.file("hooks.json"));
  };
  const auto good =
      read(R"({"name": "ana", "to": ["ana@lab.example", "b-en@lab.example"], "from": "w@lab.example",)"
           R"("sendmail": ["/bin/true", "-C", "x"], "events": ["JOB_ENDED"]})");
  INFO(good.status().ToString());
  REQUIRE(good.ok());
  CHECK(AddressOf(good->front()) == "mailto:ana@lab.example,b-en@lab.example");
  CHECK(good->front().mail->sendmail == std::vector<std::string>{"/bin/true", "-C", "x"});
  CHECK(good->front().timeout == std::chrono::seconds(60));
  CHECK_THAT(MessageOf(read(R"({"name": "ana", "to": ["-oMr@x", "a@b\nBcc: c@d"], "from": "nobody",)"
                            R"("sendmail": ["/no/such"], "url": "http://a"})")
                           .status()),
             Catch::Contains("mail[0].to: has \"-oMr@x\"") && Catch::Contains("mail[0].to: has \"a@b") &&
                 Catch::Contains("mail[0].from: has \"nobody\"; expected an address") &&
                 Catch::Contains("mail[0].sendmail: is \"/no/such\"") && Catch::Contains("url"));
  CHECK_THAT(MessageOf(read(R"({"name": "ana", "from": "w@lab.example"})").status()),
             Catch::Contains("mail[0].to: is missing"));
}

// Header names in their order; a continued line belongs to the one before.
std::vector<std::string> HeadersOf(const std::string& text) {
  std::vector<std::string> names;
  const std::string head = text.substr(0, text.find("\n\n") + 1);
  for (size_t at = 0; at < head.size(); at = head.find('\n', at) + 1) {
    if (head[at] != ' ') names.push_back(head.substr(at, head.find(':', at) - at));
  }
  return names;
}

TEST_CASE("Mail: texts of an event add no header and no line, whatever they are", "[server]") {
  const DeclaredMail mail{{"ana@lab.example"}, "w@lab.example"};
  v1::Event event;
  event.set_kind(v1::Event::JOB_ENDED);
  event.set_job_id("a\r\nBcc: eve@evil.example\n\nbody");
  event.set_state("completed");
  event.set_text("done\n.\nRCPT TO:<eve@evil.example>");
  const std::string plain = MailText(mail, event, 7, 1'700'000'000);
  const std::vector<std::string> headers = {"From",         "To",           "Subject",
                                            "Date",         "Message-ID",   "Auto-Submitted",
                                            "MIME-Version", "Content-Type", "Content-Transfer-Encoding"};
  CHECK(HeadersOf(plain) == headers);
  CHECK_THAT(plain, Catch::Contains("Date: Tue, 14 Nov 2023 22:13:20 +0000\n"));
  CHECK_THAT(plain, Catch::Contains("Subject: [winnow] a  Bcc: eve@evil.example  body is completed\n"));
  CHECK(plain.find("\n.\n") == std::string::npos);

  std::string long_name;
  for (int i = 0; i < 200; ++i) long_name += "\u00fc";
  event.set_job_id(long_name);
  const std::string coded = MailText(mail, event, 7, 1'700'000'000);
  CHECK(HeadersOf(coded) == headers);
  for (size_t at = 0; at < coded.size(); at = coded.find('\n', at) + 1)
    CHECK(coded.find('\n', at) - at <= 76);
  CHECK(std::all_of(coded.begin(), coded.end(), [](char c) { return (c & 0x80) == 0; }));
}

}  // namespace
}  // namespace winnow
