#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "worker/collective/messenger.h"

namespace winnow {

// Messengers between threads of one process, in memory.
class ThreadMessenger final : public Messenger {
 public:
  struct Room {
    explicit Room(int members) : size(members), inbox(members) {}
    const int size;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::deque<std::pair<uint32_t, Message>>> inbox;
    int closed = 0;
    absl::Status failure;
  };

  ThreadMessenger(std::shared_ptr<Room> room, int rank) : room_(std::move(room)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return room_->size; }

  absl::Status Send(int to, uint32_t tag, std::span<const std::byte> bytes) override {
    const std::lock_guard<std::mutex> lock(room_->mutex);
    if (!room_->failure.ok()) return room_->failure;
    room_->inbox[to].push_back(
        {tag, {rank_, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())}});
    if (to != rank_) sent_ += bytes.size();
    room_->changed.notify_all();
    return absl::OkStatus();
  }

  absl::StatusOr<Message> Receive(int from, uint32_t tag) override { return Next(from, tag); }
  absl::StatusOr<Message> ReceiveAny(uint32_t tag) override { return Next(kAny, tag); }

  absl::Status Close() override {
    std::unique_lock<std::mutex> lock(room_->mutex);
    ++room_->closed;
    room_->changed.notify_all();
    room_->changed.wait(lock, [&] { return room_->closed == room_->size || !room_->failure.ok(); });
    return room_->failure;
  }

  void Fail(const absl::Status& reason) override {
    const std::lock_guard<std::mutex> lock(room_->mutex);
    room_->failure.Update(reason);
    room_->changed.notify_all();
  }

  uint64_t bytes_sent() const override {
    const std::lock_guard<std::mutex> lock(room_->mutex);
    return sent_;
  }

 private:
  static constexpr int kAny = -1;

  absl::StatusOr<Message> Next(int from, uint32_t tag) {
    std::unique_lock<std::mutex> lock(room_->mutex);
    auto& inbox = room_->inbox[rank_];
    while (true) {
      if (!room_->failure.ok()) return room_->failure;
      for (auto it = inbox.begin(); it != inbox.end(); ++it) {
        if (it->first != tag || (from != kAny && it->second.from != from)) continue;
        Message message = std::move(it->second);
        inbox.erase(it);
        return message;
      }
      room_->changed.wait(lock);
    }
  }

  const std::shared_ptr<Room> room_;
  const int rank_;
  uint64_t sent_ = 0;
};

inline std::vector<std::unique_ptr<Messenger>> MakeThreadMessengers(int size) {
  const auto room = std::make_shared<ThreadMessenger::Room>(size);
  std::vector<std::unique_ptr<Messenger>> all;
  for (int r = 0; r < size; ++r) all.push_back(std::make_unique<ThreadMessenger>(room, r));
  return all;
}

}  // namespace winnow
