#include "tests/trainers/collective/thread_ranks.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "fmt/format.h"
#include "trainers/collective/group_error.h"
#include "trainers/collective/socket.h"

namespace winnow {
namespace {

// A rank's part in an operation: its kind, and the memory that the others may read and write during it.
struct Part {
  std::string operation;
  std::span<std::byte> data;
  std::string_view bytes;
  const std::vector<std::string>* to = nullptr;

  template <typename Word>
  Word* words() const {
    return reinterpret_cast<Word*>(data.data());
  }
};

// The state shared by the ranks. An operation has two steps: all bring their parts, then each works on all
// parts while none may be withdrawn.
class ThreadGroup {
 public:
  ThreadGroup(int size, std::chrono::milliseconds patience)
      : parts(size), patience_(patience), arrived_(size) {}

  std::vector<Part> parts;  // complete while `work` runs

  // Brings `part`, and runs `work` once all ranks have brought theirs. Returns when all ranks' work is done.
  absl::Status Meet(int rank, Part part, const std::function<void()>& work) {
    MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    const uint64_t round = round_;
    parts[rank] = std::move(part);
    arrived_[rank] = true;
    if (std::count(arrived_.begin(), arrived_.end(), true) == size()) {
      SetStatus(Check());
      if (!status_.ok()) return status_;
      arrived_.assign(size(), false);
      ++round_;
      working_ = size();
    }
    arrivals_.NotifyAll();
    if (absl::Status status = AwaitAll(rank, round); !status.ok()) return status;
    lock.Unlock();
    work();
    lock.Lock();
    if (--working_ == 0) arrivals_.NotifyAll();
    while (working_ > 0) arrivals_.Wait(mutex_);
    return absl::OkStatus();
  }

  void Fail(const absl::Status& status) {
    MutexLock lock(mutex_);
    SetStatus(status);
  }

  int size() const { return static_cast<int>(parts.size()); }
  std::chrono::milliseconds patience() const { return patience_; }

 private:
  void SetStatus(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (status_.ok()) status_ = status;
    arrivals_.NotifyAll();
  }

  absl::Status Check() const {
    for (int r = 1; r < size(); ++r) {
      if (parts[r].operation != parts[0].operation)
        return OperationsDiffer(0, parts[0].operation, r, parts[r].operation);
    }
    return absl::OkStatus();
  }

  absl::Status AwaitAll(int rank, uint64_t round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (round_ == round && status_.ok()) {
      const auto before = std::count(arrived_.begin(), arrived_.end(), true);
      const auto end = std::chrono::steady_clock::now() + patience_;
      bool more = false;
      for (bool over = false; !more && !over;) {
        over = !arrivals_.WaitUntil(mutex_, end);
        more =
            round_ != round || !status_.ok() || std::count(arrived_.begin(), arrived_.end(), true) > before;
      }
      if (more) continue;
      const auto missing = std::find(arrived_.begin(), arrived_.end(), false) - arrived_.begin();
      SetStatus(StandsStill(static_cast<int>(missing), parts[rank].operation, patience_));
    }
    return round_ == round ? status_ : absl::OkStatus();
  }

  const std::chrono::milliseconds patience_;
  Mutex mutex_;
  CondVar arrivals_;
  std::vector<bool> arrived_ ABSL_GUARDED_BY(mutex_);
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  int working_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~ThreadRank() override { group_->Fail(IsGone(rank_, "it left the group")); }

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  absl::Status AllReduceSum(std::span<uint64_t> data) override {
    return AllReduce("AllReduceSum", data, std::plus<>());
  }
  absl::Status AllReduceSum(std::span<uint32_t> data) override {
    return AllReduce("AllReduceSum", data, std::plus<>());
  }
  absl::Status AllReduceMax(std::span<uint64_t> data) override {
    return AllReduce("AllReduceMax", data, [](uint64_t a, uint64_t b) { return std::max(a, b); });
  }

  absl::Status ReduceScatterSum(std::span<uint64_t> data, std::span<const std::size_t> begins) override {
    return ReduceScatter(data, begins);
  }
  absl::Status ReduceScatterSum(std::span<uint32_t> data, std::span<const std::size_t> begins) override {
    return ReduceScatter(data, begins);
  }

  absl::Status AllGatherInPlace(std::span<std::byte> data, std::span<const std::size_t> begins) override {
    const std::string operation = fmt::format("AllGatherInPlace of {} bytes", data.size());
    return group_->Meet(rank_, {operation, data, {}}, [&] {
      const std::size_t begin = begins[rank_], size = begins[rank_ + 1] - begin;
      for (const Part& part : group_->parts) {
        if (part.data.data() != data.data() && size > 0)
          std::memcpy(part.data.data() + begin, data.data() + begin, size);
      }
      Sent(size, group_->parts.size() - 1);
    });
  }

  absl::StatusOr<std::vector<std::string>> AllGather(std::string_view mine) override {
    std::vector<std::string> all;
    const absl::Status status = group_->Meet(rank_, {"AllGather", {}, mine}, [&] {
      for (const Part& part : group_->parts) all.emplace_back(part.bytes);
      Sent(mine.size(), size() - 1);
    });
    if (!status.ok()) return status;
    return all;
  }

  absl::StatusOr<std::vector<std::string>> AllToAll(const std::vector<std::string>& to) override {
    std::vector<std::string> from;
    const absl::Status status = group_->Meet(rank_, {"AllToAll", {}, {}, &to}, [&] {
      for (const Part& part : group_->parts) from.push_back((*part.to)[rank_]);
      for (int r = 0; r < size(); ++r) Sent(r == rank_ ? 0 : to[r].size(), 1);
    });
    if (!status.ok()) return status;
    return from;
  }

  absl::Status Broadcast(int root, std::string* bytes) override {
    const std::string operation = fmt::format("Broadcast from rank {}", root);
    return group_->Meet(rank_, {operation, {}, *bytes}, [&] {
      if (rank_ == root)
        Sent(bytes->size(), size() - 1);
      else
        *bytes = group_->parts[root].bytes;
    });
  }

  void Fail(const absl::Status& reason) override { group_->Fail(OfRank(rank_, reason)); }
  uint32_t AddressOf(int) const override { return LoopbackAddress(); }
  std::chrono::milliseconds patience() const override { return group_->patience(); }
  uint64_t bytes_sent() const override { return bytes_sent_; }

 private:
  template <typename Word>
  static Part Bring(const char* operation, std::span<Word> data) {
    const char* const words = sizeof(Word) == sizeof(uint64_t) ? "words" : "32-bit words";
    return {fmt::format("{} of {} {}", operation, data.size(), words), std::as_writable_bytes(data), {}};
  }
  void Sent(std::size_t count, std::size_t size) { bytes_sent_ += count * size; }

  // Each rank computes one part of the result, for all.
  template <typename Word, typename Op>
  absl::Status AllReduce(const char* operation, std::span<Word> data, Op op) {
    return group_->Meet(rank_, Bring(operation, data), [&] {
      const std::size_t ranks = group_->parts.size(), begin = data.size() * rank_ / ranks,
                        end = data.size() * (rank_ + 1) / ranks;
      for (std::size_t i = begin; i < end; ++i) {
        Word result = group_->parts[0].words<Word>()[i];
        for (std::size_t r = 1; r < ranks; ++r) result = op(result, group_->parts[r].words<Word>()[i]);
        for (const Part& part : group_->parts) part.words<Word>()[i] = result;
      }
      // Bytes that others read of this rank's data, and bytes of the results written to them.
      Sent(data.size() - (end - begin) + (end - begin) * (ranks - 1), sizeof(Word));
    });
  }

  template <typename Word>
  absl::Status ReduceScatter(std::span<Word> data, std::span<const std::size_t> begins) {
    return group_->Meet(rank_, Bring("ReduceScatterSum", data), [&] {
      for (std::size_t i = begins[rank_]; i < begins[rank_ + 1]; ++i) {
        Word sum = 0;
        for (const Part& part : group_->parts) sum += part.words<Word>()[i];
        data[i] = sum;
      }
      Sent(data.size() - (begins[rank_ + 1] - begins[rank_]), sizeof(Word));
    });
  }

  const std::shared_ptr<ThreadGroup> group_;
  const int rank_;
  uint64_t bytes_sent_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeThreadRanks(int size, std::chrono::milliseconds patience) {
  const auto group = std::make_shared<ThreadGroup>(size, patience);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<ThreadRank>(group, r));
  return ranks;
}

}  // namespace winnow
