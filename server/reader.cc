#include "server/reader.h"

namespace winnow {

Reader::Reader(std::unique_ptr<Store> store, Clock clock)
    : store_(std::move(store)), reads_(*store_, std::move(clock)) {}

absl::StatusOr<std::unique_ptr<Reader>> Reader::Start(const std::string& file, Clock clock) {
  absl::StatusOr<std::unique_ptr<Store>> store = Store::OpenReadOnly(file);
  if (!store.ok()) return store.status();
  std::unique_ptr<Reader> reader(new Reader(*std::move(store), std::move(clock)));
  reader->thread_ = std::thread([raw = reader.get()] { raw->Run(); });
  return reader;
}

Reader::~Reader() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Reader::Post(std::function<void(Reads&)> read) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(read));
  }
  wake_.notify_one();
}

void Reader::Run() {
  while (true) {
    std::function<void(Reads&)> read;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      read = std::move(queue_.front());
      queue_.pop_front();
    }
    read(reads_);
  }
}

}  // namespace winnow
