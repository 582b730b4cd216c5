// TLS, with certificates of an authority that the test makes.

#include "server/grpc/tls.h"

#include <filesystem>
#include <fstream>

#include "tests/server/grpc/token_play.h"
#include "tests/support/certificates.h"

namespace winnow {
namespace {

using grpc::StatusCode;

class TlsPlay {
 public:
  explicit TlsPlay(bool mutual = false)
      : certificates(folder.file("tls")),
        play(MakeFiles(mutual)),
        token(play.MakeToken(v1::VIEWER).secret()) {}

  Endpoint Good() const {
    Endpoint endpoint = play.OverTcp(token);
    endpoint.ca_file = certificates.ca();
    return endpoint;
  }

  TempFolder folder;
  const Certificates certificates;
  TokenPlay play;
  const std::string token;

 private:
  TlsFiles MakeFiles(bool mutual) const {
    certificates.Make("server");
    return {certificates.cert("server"), certificates.key("server"), mutual ? certificates.ca() : ""};
  }
};

// Certificates "a" and "b", "old", which has expired, and "early", which is not valid yet.
struct SomeFiles {
  SomeFiles() {
    certificates.Make("a");
    certificates.Make("b");
    certificates.Make("old", -1);
    certificates.MakeEarly("early");
  }

  TempFolder folder;
  const Certificates certificates{folder.file("tls")};
};

TEST_CASE("Tls: a client that trusts the authority and has a token is served", "[server]") {
  TlsPlay tls;
  const grpc::Status status = tls.play.List(tls.Good());
  INFO(status.error_message());
  CHECK(status.ok());
  Endpoint nobody = tls.Good();
  nobody.token = "";
  CHECK(tls.play.List(nobody).error_code() == StatusCode::UNAUTHENTICATED);
}

TEST_CASE("Tls: of several addresses the one that listens is used, under the name of the first", "[server]") {
  TlsPlay tls;
  const std::string listens = tls.play.address();
  Endpoint several = tls.Good();
  several.address = "localhost:1," + listens;  // nothing listens at port 1
  const grpc::Status status = tls.play.List(several);
  INFO(status.error_message());
  CHECK(status.ok());
  several.address = "127.0.0.2:1," + listens;  // the certificate does not have this name
  const grpc::Status refused = tls.play.List(several);
  CHECK(refused.error_code() == StatusCode::UNAVAILABLE);
  INFO(refused.error_message());
  CHECK_THAT(ExplainFailure(several, refused), Catch::Contains("is not for the name in 127.0.0.2:1,"));
}

TEST_CASE("Tls: a certificate of another authority is not trusted, and it is said", "[server]") {
  TlsPlay tls;
  const Certificates others(tls.folder.file("others"));
  Endpoint wrong = tls.Good();
  wrong.ca_file = others.ca();
  const grpc::Status status = tls.play.List(wrong);
  CHECK(status.error_code() == StatusCode::UNAVAILABLE);
  INFO(status.error_message());
  CHECK_THAT(ExplainFailure(wrong, status),
             Catch::Contains("certificate is not trusted") && Catch::Contains("--tls-ca"));
}

TEST_CASE("Tls: a client with the key of another certificate is told so before it connects", "[server]") {
  const SomeFiles files;
  const Certificates& certificates = files.certificates;
  Endpoint endpoint{
      .address = "127.0.0.1:1", .ca_file = certificates.ca(), .cert_file = certificates.cert("a")};
  const auto why = [&] { return std::string(Connect(endpoint).status().message()); };
  endpoint.key_file = certificates.key("b");
  CHECK_THAT(why(), Catch::StartsWith("--tls-key: ") && Catch::Contains("not the key of"));
  endpoint.key_file = certificates.cert("a");
  CHECK_THAT(why(), Catch::StartsWith("--tls-key: "));
  endpoint.key_file = certificates.key("a");
  CHECK(Connect(endpoint).ok());
  endpoint.cert_file = certificates.cert("old");
  CHECK_THAT(why(), Catch::StartsWith("--tls-cert: ") && Catch::Contains("expired"));
}

TEST_CASE("Tls: plain text to TLS and TLS to plain text end with words that help", "[server]") {
  TlsPlay tls;
  Endpoint plain = tls.play.OverTcp(tls.token);
  const grpc::Status refused = tls.play.List(plain);
  CHECK(refused.error_code() == StatusCode::UNAVAILABLE);
  INFO(refused.error_message());
  CHECK_THAT(ExplainFailure(plain, refused), Catch::Contains("--tls-ca"));
  TokenPlay without;
  Endpoint with = without.OverTcp("");
  with.ca_file = tls.certificates.ca();
  const grpc::Status other = without.List(with);
  CHECK(other.error_code() == StatusCode::UNAVAILABLE);
  INFO(other.error_message());
  CHECK_THAT(ExplainFailure(with, other), Catch::Contains("does not use TLS"));
}

TEST_CASE(
    "Tls: a server that asks for clients' certificates serves only those that its authority vouches for",
    "[server]") {
  TlsPlay tls(true);
  Endpoint none = tls.Good();
  const grpc::Status refused = tls.play.List(none);
  CHECK(refused.error_code() == StatusCode::UNAVAILABLE);
  INFO(refused.error_message());
  CHECK_THAT(ExplainFailure(none, refused), Catch::Contains("--tls-cert"));

  tls.certificates.Make("client");
  Endpoint good = tls.Good();
  good.cert_file = tls.certificates.cert("client");
  good.key_file = tls.certificates.key("client");
  CHECK(tls.play.List(good).ok());

  const Certificates others(tls.folder.file("others"));
  others.Make("client");
  Endpoint foreign = tls.Good();
  foreign.cert_file = others.cert("client");
  foreign.key_file = others.key("client");
  CHECK(tls.play.List(foreign).error_code() == StatusCode::UNAVAILABLE);
}

TEST_CASE("Tls: a renewed certificate is shown without a restart", "[server]") {
  TlsPlay tls;
  const Certificates others(tls.folder.file("others"));
  others.Make("server");
  Endpoint renewed = tls.Good();
  renewed.ca_file = others.ca();
  REQUIRE_FALSE(tls.play.List(renewed).ok());
  tls.certificates.Replace("server", others);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool served = false;
  while (!served && std::chrono::steady_clock::now() < deadline) served = tls.play.List(renewed).ok();
  CHECK(served);
}

TEST_CASE("Tls: files that cannot serve are refused by flag, file and reason", "[server]") {
  const SomeFiles files;
  const Certificates& certificates = files.certificates;
  const std::string text = files.folder.file("text");
  std::ofstream(text) << "no certificate\n";
  const auto check = [](const TlsFiles& given) { return std::string(CheckTlsFiles(given).message()); };
  const auto cert = [&](const char* name) { return certificates.cert(name); };
  const auto key = [&](const char* name) { return certificates.key(name); };
  CHECK(check({cert("a"), key("a"), certificates.ca()}) == "");
  CHECK(check({}) == "");
  CHECK_THAT(check({cert("a"), ""}), Catch::Contains("needs its key"));
  CHECK_THAT(check({"", key("a")}), Catch::Contains("needs its certificate"));
  CHECK_THAT(check({"", "", certificates.ca()}), Catch::StartsWith("--tls-client-ca"));
  CHECK_THAT(check({"/nonexistent", key("a")}), Catch::Contains("--tls-cert: /nonexistent: No such file"));
  CHECK_THAT(check({text, key("a")}), Catch::Contains("not a certificate in PEM"));
  CHECK_THAT(check({cert("a"), text}), Catch::Contains("not a private key in PEM"));
  CHECK_THAT(check({cert("a"), key("b")}), Catch::Contains("not the key of"));
  CHECK_THAT(check({cert("old"), key("old")}), Catch::Contains("has expired"));
  CHECK_THAT(check({cert("early"), key("early")}), Catch::Contains("is not valid yet"));
  CHECK_THAT(check({cert("a"), key("a"), text}), Catch::StartsWith("--tls-client-ca"));
}

}  // namespace
}  // namespace winnow
