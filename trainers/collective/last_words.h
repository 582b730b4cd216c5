#pragma once

#include <poll.h>

#include <chrono>
#include <span>
#include <utility>
#include <vector>

namespace winnow {

// Time limits for the last message of a rank that gives up: in total, and to a rank that reads nothing.
constexpr std::chrono::milliseconds kLastWords(5000), kUnheard(2000);

// Sends the links' unsent bytes and ends the links. Takes at most `most` in total, and stops waiting for a
// rank that reads nothing after `unheard`. Discards incoming bytes meanwhile: closing a connection with
// unread bytes loses its unsent ones. `Link` has ended(), Discard(), Write(), sending(), EndSending(),
// Unsent() and fd().
template <typename Link>
void AwaitSent(std::span<Link* const> links, std::chrono::milliseconds most,
               std::chrono::milliseconds unheard) {
  constexpr std::chrono::milliseconds kLook(5);  // polling interval where no event is available
  const auto begin = std::chrono::steady_clock::now();
  std::vector<int> unsent(links.size());
  std::vector<std::chrono::steady_clock::time_point> heard(links.size(), begin);
  std::vector<pollfd> polled;
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    polled.clear();
    for (std::size_t i = 0; i < links.size(); ++i) {
      Link* const link = links[i];
      if (link->ended()) continue;
      link->Discard();
      const bool wrote = link->Write();
      const bool sending = link->sending();
      if (!sending) link->EndSending();
      const int left = link->Unsent();
      if (wrote || std::exchange(unsent[i], left) != left) heard[i] = now;
      if (link->ended() || (!sending && left == 0) || now - heard[i] >= unheard) continue;
      polled.push_back({link->fd(), static_cast<short>(sending ? POLLOUT : 0), 0});
    }
    if (polled.empty() || now >= begin + most) return;
    poll(polled.data(), polled.size(), static_cast<int>(kLook.count()));
  }
}

}  // namespace winnow
