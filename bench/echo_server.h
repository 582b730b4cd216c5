#pragma once

#include <string>

namespace winnow {

// A process that answers every Sync with nothing at once: the capacity of gRPC alone on this machine. It is
// this program, started again with one argument, which main passes to Serve.
class EchoServer {
 public:
  static constexpr char kArgument[] = "--echo-server";
  // Serves until standard input ends.
  static void Serve();

  EchoServer();
  ~EchoServer();
  std::string address() const { return address_; }

 private:
  int input_ = -1;
  int pid_ = -1;
  std::string address_;
};

}  // namespace winnow
