#include "rpc/endpoint.h"

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "rpc/channel.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

const std::string kToken = "wnw_0123abcd_" + std::string(43, 'a');

// Variables of this process, while it lives; all others of ours are unset.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, std::string>> variables) {
    Clear();
    for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
  }
  ~Environment() { Clear(); }

 private:
  static void Clear() {
    for (const char* name : {"WINNOW_SERVER", "WINNOW_TLS_CA", "WINNOW_TLS_CERT", "WINNOW_TLS_KEY",
                             "WINNOW_TOKEN", "WINNOW_TOKEN_FILE"}) {
      unsetenv(name);
    }
  }
};

TEST_CASE("Endpoint: flags go before the environment, and that before the defaults", "[rpc]") {
  const Environment environment({{"WINNOW_SERVER", "tuner.example:7070"}, {"WINNOW_TLS_CA", "env.pem"}});
  CHECK(MakeEndpoint({})->address == "tuner.example:7070");
  CHECK(MakeEndpoint({})->ca_file == "env.pem");
  const Endpoint endpoint = *MakeEndpoint({.server = "127.0.0.1:1", .tls_ca = "flag.pem"});
  CHECK(endpoint.address == "127.0.0.1:1");
  CHECK(endpoint.ca_file == "flag.pem");
  const Environment nothing({});
  CHECK(MakeEndpoint({})->address == "127.0.0.1:7070");
}

TEST_CASE("Endpoint: TLS beyond loopback, on loopback where files ask for it, never on a socket", "[rpc]") {
  CHECK(Endpoint{.address = "tuner.example:7070"}.UsesTls());
  CHECK_FALSE(Endpoint{.address = "127.0.0.1:7070"}.UsesTls());
  CHECK(Endpoint{.address = "127.0.0.1:7070", .ca_file = "ca.pem"}.UsesTls());
  CHECK_FALSE(Endpoint{.address = "unix:/s", .ca_file = "ca.pem"}.UsesTls());
  CHECK(Endpoint{.address = "127.0.0.1:7070,tuner.example:7070"}.UsesTls());
  CHECK_FALSE(Endpoint{.address = "127.0.0.1:7070,127.0.0.1:7071"}.UsesTls());
}

TEST_CASE("Endpoint: a token comes from a file or a variable", "[rpc]") {
  TempFolder folder;
  std::ofstream(folder.file("token")) << kToken << "\n";
  std::ofstream(folder.file("wrong")) << "-----BEGIN PRIVATE KEY-----\n";
  {
    const Environment environment({{"WINNOW_TOKEN_FILE", folder.file("token")}});
    CHECK(MakeEndpoint({})->token == kToken);
  }
  const Environment environment({{"WINNOW_TOKEN", kToken + "b"}});
  CHECK(MakeEndpoint({})->token == kToken + "b");
  CHECK(MakeEndpoint({.token_file = folder.file("token")})->token == kToken);
  const auto wrong = [](const EndpointFlags& flags) {
    return std::string(MakeEndpoint(flags).status().message());
  };
  CHECK_THAT(wrong({.token_file = folder.file("none")}),
             Catch::Contains("--token-file: ") && Catch::Contains("No such file"));
  CHECK_THAT(wrong({.token_file = folder.file("wrong")}), Catch::Contains("contains no token"));
}

TEST_CASE("Endpoint: refuses a malformed token without repeating it", "[rpc]") {
  const Environment environment({{"WINNOW_TOKEN", "secret\r\nx-role: admin"}});
  const std::string message(MakeEndpoint({}).status().message());
  CHECK_THAT(message, Catch::StartsWith("WINNOW_TOKEN: ") && !Catch::Contains("secret"));
}

TEST_CASE("Endpoint: a certificate and its key come together", "[rpc]") {
  const Environment environment({});
  CHECK_THAT(std::string(MakeEndpoint({.tls_cert = "c.pem"}).status().message()),
             Catch::Contains("--tls-cert: a certificate needs its key"));
  CHECK_THAT(std::string(MakeEndpoint({.tls_key = "c.key"}).status().message()),
             Catch::Contains("--tls-key: a key needs its certificate"));
}

TEST_CASE("Connect: a file that cannot be read or is not PEM is named", "[rpc]") {
  TempFolder folder;
  std::ofstream(folder.file("text")) << "no certificate";
  const auto why = [](const std::string& file) {
    return std::string(Connect({.address = "tuner.example:7070", .ca_file = file}).status().message());
  };
  CHECK_THAT(why(folder.file("none")), Catch::Contains("--tls-ca: ") && Catch::Contains("No such file"));
  CHECK_THAT(why(folder.file("text")), Catch::Contains("contains no CERTIFICATE in PEM"));
  CHECK_THAT(why(folder.path().string()), Catch::Contains("Is a directory"));
}

}  // namespace
}  // namespace winnow
