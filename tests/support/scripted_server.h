#pragma once

#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace winnow {

struct ScriptedRequest {
  std::string method;
  std::string target;                          // path and query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // "GET /path", without the query.
  std::string call() const { return method + " " + target.substr(0, target.find('?')); }
  // The value in the query, as it is encoded there; "": absent.
  std::string Query(const std::string& name) const;
};

// What the handler of a request sends, on a real socket.
class ScriptedReply {
 public:
  explicit ScriptedReply(int socket) : socket_(socket) {}
  void Send(int status, const std::string& body, const std::string& headers = "");
  // Begins an answer of pieces, which ends with the handler, or with the connection by Drop.
  void Begin();
  // False: the client has gone.
  bool Piece(const std::string& text);
  // Closes the connection without an (other) answer.
  void Drop();

 private:
  friend class ScriptedServer;
  bool Write(const std::string& bytes);
  int socket_;
  bool begun_ = false;
  bool dropped_ = false;
  bool answered_ = false;
};

// An HTTP server on a port of 127.0.0.1 that answers as a test says. Each connection has a thread.
class ScriptedServer {
 public:
  using Handler = std::function<void(const ScriptedRequest&, ScriptedReply&)>;
  // Port 0: chosen by the system.
  explicit ScriptedServer(Handler handler, int port = 0);
  ~ScriptedServer();

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // The requests so far, as ScriptedRequest::call().
  std::vector<std::string> calls() const;
  // Waits until so many requests have come, half a minute at most; false: they have not.
  bool WaitForCalls(size_t count) const;
  // True once the server is being destroyed: handlers that wait return then.
  bool ending() const;
  // Waits until Open, or the end of the server.
  void WaitForGate();
  void Open();

 private:
  void Accept();
  void Serve(int socket);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  std::set<int> sockets_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread accepter_;
};

}  // namespace winnow
