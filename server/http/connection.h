#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>
#include <utility>

#include "server/http/connections.h"
#include "server/http/http_server.h"
#include "server/http/request_handler.h"

namespace winnow {

// State shared by the connections of one server.
struct Shared {
  const RequestHandler& app;
  const HttpLimits& limits;
  Connections& connections;
  std::atomic<size_t> body_bytes = 0;    // of bodies being read or answered
  std::atomic<size_t> answer_bytes = 0;  // of answers being sent
  std::atomic<size_t> streams = 0;       // open streams of events
};

// Serves the requests of a connection in order until it ends. REQUIRES: the socket's executor is a strand;
// `shared` outlives the connection's place among `shared.connections`.
void ServeConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls,
                     Shared& shared);

}  // namespace winnow
