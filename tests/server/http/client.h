#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace winnow {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // by lower-case name
  std::string body;

  nlohmann::json json() const { return nlohmann::json::parse(body); }
};

// A connection to a port of this machine over which a test sends arbitrary bytes. Nothing waits longer than
// half a minute: then the answer is empty.
class HttpClient {
 public:
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False if the peer has closed.
  bool Send(const std::string& bytes);
  // Returns the next reply; status 0 if the connection ends within it. `head`: it has no body, whatever its
  // length header says.
  HttpReply Read(bool head = false);
  // Returns the next reply's head; ReadEvent reads what follows.
  HttpReply ReadHead();
  // Returns the lines of the next server-sent event or comment, without the empty one; nothing at the
  // stream's end.
  std::optional<std::string> ReadEvent();
  // Reads until the peer closes; false if it does not.
  bool IsClosed();

  using Headers = std::map<std::string, std::string>;
  // A request with Host, and the reply to it.
  HttpReply Ask(const std::string& method, const std::string& target, const std::string& body = "",
                const Headers& headers = {});

 private:
  bool Fill();
  std::optional<std::string> TakeLine();
  std::string Take(size_t bytes);
  std::optional<std::string> TakeChunk();

  int socket_ = -1;
  std::string buffer_;
  std::string events_;
};

// One request on its own connection.
HttpReply AskOnce(int port, const std::string& method, const std::string& target,
                  const std::string& body = "", const HttpClient::Headers& headers = {});

// The bytes of a request as HttpClient::Ask sends it.
std::string RequestText(const std::string& method, const std::string& target, const std::string& body,
                        const HttpClient::Headers& headers);

}  // namespace winnow
