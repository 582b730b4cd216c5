// HTTP within TLS, asked by the program curl.

#include <filesystem>

#include "tests/server/http/http_play.h"
#include "tests/support/certificates.h"
#include "tests/support/run_command.h"

namespace winnow {
namespace {

Ran Curl(const std::string& arguments) { return RunCommand("curl -sS --max-time 30 " + arguments); }

struct HttpsPlay {
  explicit HttpsPlay(bool mutual = false) : certificates(folder.file("tls")), play(MakeFiles(mutual)) {}
  TlsFiles MakeFiles(bool mutual) const {
    certificates.Make("server");
    return {certificates.cert("server"), certificates.key("server"), mutual ? certificates.ca() : ""};
  }
  std::string Url(const std::string& path) const {
    return "https://127.0.0.1:" + std::to_string(play.port()) + path;
  }
  TempFolder folder;
  const Certificates certificates;
  struct Play : WithHttp<TokenPlay> {
    explicit Play(const TlsFiles& tls)
        : WithHttp(HttpServerOptions{.tls = tls, .tokens_required = true}, tls) {}
    std::string MakeViewer() {
      // Over the socket, on which every caller is an admin.
      return MakeToken(v1::VIEWER).secret();
    }
  } play;
};

TEST_CASE("Https: who trusts the authority and has a token is served, and the cookie is for TLS alone",
          "[http]") {
  HttpsPlay tls;
  const std::string trust = "--cacert " + tls.certificates.ca() + " ";
  const std::string token = tls.play.MakeViewer();
  const Ran caller = Curl(trust + "-H 'Authorization: Bearer " + token + "' " + tls.Url("/v1/caller"));
  INFO(caller.output);
  CHECK(nlohmann::json::parse(caller.output)["role"] == "VIEWER");
  const Ran login = Curl(trust + "-D - --json '{\"token\": \"" + token + "\"}' " + tls.Url("/login"));
  CHECK_THAT(login.output, Catch::Contains("SameSite=Strict; Path=/; Secure"));
  CHECK_THAT(Curl(trust + tls.Url("/v1/caller")).output, Catch::Contains("UNAUTHENTICATED"));
  CHECK(Curl(tls.Url("/healthz")).exit_code == 60);  // curl: the certificate is not trusted
}

TEST_CASE("Https: answers over TLS ask browsers to use TLS alone, and answers over plain HTTP do not",
          "[http]") {
  HttpsPlay tls;
  const Ran healthy = Curl("-D - --cacert " + tls.certificates.ca() + " " + tls.Url("/healthz"));
  CHECK_THAT(healthy.output, Catch::Contains("Strict-Transport-Security: max-age=31536000"));
  const HttpPlay plain;
  CHECK_FALSE(plain.Ask("GET", "/healthz").headers.contains("strict-transport-security"));
}

TEST_CASE("Https: TLS 1.2 is spoken with suites that encrypt and authenticate as one, and with no others",
          "[http]") {
  HttpsPlay tls;
  const std::string ask = "--tls-max 1.2 --cacert " + tls.certificates.ca() + " --ciphers ";
  CHECK(Curl(ask + "ECDHE-ECDSA-AES128-GCM-SHA256 " + tls.Url("/healthz")).exit_code == 0);
  CHECK(Curl(ask + "ECDHE-ECDSA-CHACHA20-POLY1305 " + tls.Url("/healthz")).exit_code == 0);
  for (const char* old :
       {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-SHA256"}) {
    INFO(old);
    CHECK(Curl(ask + old + " " + tls.Url("/healthz")).exit_code == 35);  // curl: no handshake
  }
}

TEST_CASE("Https: plain text is not answered", "[http]") {
  HttpsPlay tls;
  HttpClient client(tls.play.port());
  client.Send(RequestText("GET", "/healthz", "", {}));
  CHECK(client.IsClosed());
}

TEST_CASE(
    "Https: a server that asks for clients' certificates serves only those that its authority vouches for",
    "[http]") {
  HttpsPlay tls(true);
  const std::string trust = "--cacert " + tls.certificates.ca() + " ";
  CHECK(Curl(trust + tls.Url("/healthz")).exit_code != 0);
  tls.certificates.Make("client");
  const std::string shown =
      "--cert " + tls.certificates.cert("client") + " --key " + tls.certificates.key("client") + " ";
  CHECK(nlohmann::json::parse(Curl(trust + shown + tls.Url("/healthz")).output)["status"] == "ok");
}

TEST_CASE("Https: a renewed certificate is shown without a restart", "[http]") {
  HttpsPlay tls;
  const Certificates others(tls.folder.file("others"));
  others.Make("server");
  const std::string ask = "--cacert " + others.ca() + " " + tls.Url("/healthz");
  REQUIRE(Curl(ask).exit_code == 60);
  tls.certificates.Replace("server", others);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool served = false;
  while (!served && std::chrono::steady_clock::now() < deadline) served = Curl(ask).exit_code == 0;
  CHECK(served);
}

TEST_CASE("Https: clients' certificates of a replaced authority are served no more, without a restart",
          "[http]") {
  HttpsPlay tls(true);
  const Certificates others(tls.folder.file("others"));
  tls.certificates.Make("client");
  others.Make("client");
  // The server's own certificate stays.
  const std::string own = tls.folder.file("own.pem");
  std::filesystem::copy_file(tls.certificates.ca(), own);
  const auto ask = [&](const Certificates& of) {
    return Curl("--cacert " + own + " --cert " + of.cert("client") + " --key " + of.key("client") + " " +
                tls.Url("/healthz"))
        .exit_code;
  };
  REQUIRE(ask(tls.certificates) == 0);
  REQUIRE(ask(others) != 0);
  const std::string next = tls.folder.file("next.pem");
  std::filesystem::copy_file(others.ca(), next);
  std::filesystem::rename(next, tls.certificates.ca());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool served = false;
  while (!served && std::chrono::steady_clock::now() < deadline) served = ask(others) == 0;
  CHECK(served);
  CHECK(ask(tls.certificates) != 0);
}

}  // namespace
}  // namespace winnow
