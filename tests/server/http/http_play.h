#pragma once

#include <memory>
#include <string>
#include <utility>

#include "server/http/http_server.h"
#include "tests/server/grpc/service_play.h"
#include "tests/server/grpc/token_play.h"
#include "tests/server/http/client.h"

namespace winnow {

// A play with HTTP beside its gRPC, on a port chosen by the system. Base: ServicePlay, or TokenPlay, which
// requires tokens.
template <typename Base>
class WithHttp : public Base {
 public:
  template <typename... Arguments>
  explicit WithHttp(HttpServerOptions of_http = {}, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...) {
    of_http.address = "127.0.0.1:0";
    of_http.relay_key = this->server->relay_key();
    auto started = HttpServer::Start(std::move(of_http), this->server->InProcessChannel());
    INFO(started.status().ToString());
    REQUIRE(started.ok());
    http = *std::move(started);
  }
  ~WithHttp() { http = nullptr; }

  int port() const { return http->port(); }
  HttpReply Ask(const std::string& method, const std::string& target, const std::string& body = "",
                const HttpClient::Headers& headers = {}) const {
    return AskOnce(port(), method, target, body, headers);
  }

  std::unique_ptr<HttpServer> http;
};

using HttpPlay = WithHttp<ServicePlay>;

class TokenHttpPlay : public WithHttp<TokenPlay> {
 public:
  explicit TokenHttpPlay(const TlsFiles& tls = {})
      : WithHttp(HttpServerOptions{
            .tls = tls, .tokens_required = true, .metrics = [](const auto&) { return "up 1\n"; }}) {}
};

// The header Authorization with a token.
inline HttpClient::Headers Bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

}  // namespace winnow
