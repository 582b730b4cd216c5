#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>
#include <utility>

#include "server/http/app.h"
#include "server/http/connections.h"
#include "server/http/http_server.h"

namespace winnow {

// What the connections of one server share.
struct Shared {
  const HttpApp& app;
  const HttpLimits& limits;
  Connections& connections;
  std::atomic<size_t> body_bytes = 0;  // of bodies that are being read or answered
  std::atomic<size_t> streams = 0;     // of events, that are open
};

// Serves a connection, one request after the other, until it ends. REQUIRES the socket's executor is a
// strand; `shared` outlives the connection's place among `shared.connections`.
void ServeConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls,
                     Shared& shared);

}  // namespace winnow
