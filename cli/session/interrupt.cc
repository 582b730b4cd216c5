#include "cli/session/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

namespace winnow::cli {
namespace {

volatile sig_atomic_t interrupted = 0;
int wake = -1;  // eventfd

void OnInterrupt(int) {
  const int saved = errno;
  interrupted = 1;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = write(wake, &one, sizeof one);
  errno = saved;
}

}  // namespace

Interrupt::Interrupt() {
  interrupted = 0;
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  close(wake);
  wake = -1;
}

int Interrupt::fd() const { return wake; }

bool Interrupt::raised() const { return interrupted != 0; }

}  // namespace winnow::cli
