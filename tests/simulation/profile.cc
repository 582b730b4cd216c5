#include "tests/simulation/profile.h"

#include <fmt/format.h>

#include <limits>

#include "tests/simulation/dice.h"
#include "tests/simulation/virtual_time.h"

namespace winnow {
namespace {

constexpr int64_t kMostLosses = 1000;  // as many as may be allowed
// Separates draws of the profile from those of the run.
constexpr uint64_t kProfileSalt = 0x5bd1e995;

void AddInteger(v1::TuningJobSpec& spec, const char* name, int64_t max) {
  v1::ParameterSpec* parameter = spec.add_parameters();
  parameter->set_name(name);
  parameter->mutable_integer()->set_min(0);
  parameter->mutable_integer()->set_max(max);
}

v1::TuningJobSpec BaseSpec(int index) {
  v1::TuningJobSpec spec;
  spec.set_name(fmt::format("job{}", index));
  for (const char* word : {"/bin/true", "{{a}}", "{{b}}"}) spec.mutable_trainer()->add_command(word);
  v1::MetricDefinition* metric = spec.mutable_trainer()->add_metrics();
  metric->set_name("loss");
  metric->set_regex("loss=([0-9.e+-]+)");
  spec.mutable_trainer()->mutable_grace_period()->set_seconds(3);
  AddInteger(spec, "a", 1000);
  AddInteger(spec, "b", 1000);
  spec.mutable_objective()->set_metric("loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  return spec;
}

// Draws the search; true: a comparable one.
bool DrawSearch(Dice& dice, Scale scale, v1::TuningJobSpec& spec) {
  const bool large = scale == Scale::kLarge;
  const int64_t trials = large ? dice.Between(60, 300) : dice.Between(2, 7);
  const int64_t units = dice.Between(1, 5);
  spec.mutable_limits()->set_max_trials(trials);
  switch (dice.Between(0, 9)) {
    case 0:
    case 1:
    case 2:
      spec.mutable_sampler()->set_kind(dice.Chance(0.5) ? v1::SamplerSpec::RANDOM : v1::SamplerSpec::SOBOL);
      spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
      spec.mutable_limits()->set_max_trial_resource(units);
      return true;
    case 3:
      spec.mutable_sampler()->set_kind(v1::SamplerSpec::GRID);
      (*spec.mutable_sampler()->mutable_grid_points())["a"] = large ? 12 : 2;
      (*spec.mutable_sampler()->mutable_grid_points())["b"] = large ? 12 : 2;
      spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
      spec.mutable_limits()->set_max_trial_resource(units);
      return true;
    case 4:
    case 5:
    case 6: {
      spec.mutable_sampler()->set_kind(dice.Chance(0.5) ? v1::SamplerSpec::RANDOM : v1::SamplerSpec::SOBOL);
      v1::PrunerSpec* pruner = spec.mutable_pruner();
      pruner->set_kind(dice.Chance(0.7) ? v1::PrunerSpec::HYPERBAND : v1::PrunerSpec::SUCCESSIVE_HALVING);
      pruner->set_max_resource(large ? 81 : dice.Between(3, 4));
      pruner->set_reduction_factor(large ? 3 : dice.Between(2, 3));
      spec.mutable_limits()->set_max_trials(large ? trials : dice.Between(3, 8));
      const bool weak = pruner->kind() == v1::PrunerSpec::HYPERBAND && dice.Chance(0.3);
      if (pruner->kind() == v1::PrunerSpec::HYPERBAND) pruner->set_stop_weak_brackets(weak);
      return !weak;
    }
    case 7:
    case 8: {
      spec.mutable_sampler()->set_kind(v1::SamplerSpec::SOBOL);
      v1::PrunerSpec* pruner = spec.mutable_pruner();
      pruner->set_kind(dice.Chance(0.7) ? v1::PrunerSpec::ASHA : v1::PrunerSpec::MEDIAN);
      if (pruner->kind() == v1::PrunerSpec::ASHA) {
        pruner->set_max_resource(large ? 27 : 4);
        pruner->set_reduction_factor(large ? 3 : 2);
        if (dice.Chance(0.4)) {
          pruner->set_form(v1::PrunerSpec::STOPPING);
          if (dice.Chance(0.5)) spec.mutable_trainer()->set_resumes(false);
        }
      } else {
        pruner->set_warm_up_trials(2);
        spec.mutable_limits()->set_max_trial_resource(units + 2);
      }
      return false;
    }
    default:
      spec.mutable_sampler()->set_kind(v1::SamplerSpec::TPE);
      spec.mutable_sampler()->set_startup_trials(2);
      if (dice.Chance(0.5)) {
        spec.mutable_pruner()->set_kind(v1::PrunerSpec::HYPERBAND);
        spec.mutable_pruner()->set_max_resource(3);
        spec.mutable_limits()->set_max_trials(large ? 30 : 5);
      } else {
        spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
        spec.mutable_limits()->set_max_trials(large ? 30 : dice.Between(3, 5));
        spec.mutable_limits()->set_max_trial_resource(units);
      }
      return false;
  }
}

// No rank and no gang asks for more than the hosts have.
void DrawGpus(Dice& dice, const Profile& profile, JobProfile& job) {
  int whole = 0, most = 0;
  for (const HostProfile& host : profile.hosts) {
    whole += std::min(host.slots, host.gpus);
    most = std::max(most, host.gpus);
  }
  v1::ClusterSpec& cluster = *job.spec.mutable_cluster();
  if (whole < std::max(1, cluster.nodes()) || !dice.Chance(0.75)) return;
  if (dice.Chance(0.3)) {
    cluster.set_gpu_share(0.25 * static_cast<double>(dice.Between(1, 3)));
  } else {
    const bool alone = cluster.nodes() <= 1;
    cluster.set_gpus(static_cast<int32_t>(dice.Between(1, alone ? std::min(2, most) : 1)));
  }
}

JobProfile DrawJob(Dice& dice, Scale scale, int index, const Profile& profile) {
  JobProfile job;
  job.spec = BaseSpec(index);
  job.spec.set_seed(static_cast<uint64_t>(dice.Between(0, 1'000'000)));
  job.comparable = DrawSearch(dice, scale, job.spec);
  v1::LimitsSpec* limits = job.spec.mutable_limits();
  limits->set_max_lost_attempts(kMostLosses);
  if (profile.trainer_fails > 0 || profile.trainer_hangs > 0 || profile.start_fails > 0) {
    job.comparable = false;
    limits->set_max_attempts(dice.Between(1, 3));
    if (profile.trainer_hangs > 0) limits->mutable_max_attempt_time()->set_seconds(60);
  }
  if (dice.Chance(0.2)) limits->set_max_parallel_trials(dice.Between(1, 3));
  if (!job.comparable && dice.Chance(0.2)) limits->set_max_lost_attempts(dice.Between(1, 4));
  if (!job.comparable && dice.Chance(0.2)) {
    limits->set_max_total_resource(scale == Scale::kLarge ? 500 : dice.Between(7, 20));
  }
  if (!job.comparable && dice.Chance(0.1))
    limits->set_max_node_seconds(static_cast<double>(dice.Between(2, 40)));
  if (!job.comparable && dice.Chance(0.05))
    limits->mutable_max_wall_time()->set_seconds(dice.Between(5, 100));
  if (!job.comparable && dice.Chance(0.1)) job.spec.mutable_completion()->set_target_objective(0.3);
  if (!job.comparable && dice.Chance(0.1)) job.stop_us = dice.Between(1, 60) * kSecondUs;
  int slots = 0;
  for (const HostProfile& host : profile.hosts) slots += host.slots;
  if (slots > 1 && dice.Chance(0.35)) {
    job.spec.mutable_cluster()->set_nodes(static_cast<int32_t>(dice.Between(2, std::min(3, slots))));
  }
  DrawGpus(dice, profile, job);
  if (dice.Chance(0.3))
    job.spec.mutable_scheduling()->set_priority(static_cast<int32_t>(dice.Between(-1, 1)));
  if (dice.Chance(0.3)) job.spec.mutable_scheduling()->set_weight(static_cast<double>(dice.Between(1, 4)));
  job.submit_us = index == 0 ? 0 : dice.Skewed(0, 20 * kSecondUs);
  return job;
}

// Some programs cannot resume and are suspended at rungs.
void DrawSuspension(Dice& dice, v1::TuningJobSpec& spec) {
  const v1::ClusterSpec& cluster = spec.cluster();
  const bool may = cluster.nodes() <= 1 && cluster.gpus() == 0 && cluster.gpu_share() == 0;
  const bool has_rungs = spec.pruner().max_resource() > 0 && spec.pruner().form() != v1::PrunerSpec::STOPPING;
  if (!may || !has_rungs || !dice.Chance(0.5)) return;
  spec.mutable_trainer()->set_resumes(false);
  spec.mutable_trainer()->set_warm(v1::TrainerSpec::SUSPEND);
  if (spec.pruner().kind() == v1::PrunerSpec::ASHA)
    spec.mutable_pruner()->set_form(v1::PrunerSpec::PROMOTION);
}

// Some jobs are of population based training instead.
void DrawPopulation(Dice& dice, Scale scale, JobProfile& job) {
  if (!dice.Chance(0.15)) return;
  const bool large = scale == Scale::kLarge;
  v1::TuningJobSpec& spec = job.spec;
  spec.mutable_sampler()->Clear();
  spec.mutable_sampler()->set_kind(dice.Chance(0.5) ? v1::SamplerSpec::RANDOM : v1::SamplerSpec::SOBOL);
  v1::PrunerSpec* pruner = spec.mutable_pruner();
  pruner->Clear();
  pruner->set_kind(v1::PrunerSpec::PBT);
  pruner->set_trials(large ? dice.Between(8, 40) : dice.Between(2, 4));
  pruner->set_reduction_factor(2);
  pruner->set_min_resource(1);
  pruner->set_max_resource(large ? 8 : dice.Between(2, 4));
  spec.mutable_limits()->clear_max_trials();
  spec.mutable_limits()->clear_max_trial_resource();
  spec.mutable_trainer()->clear_resumes();
  if (spec.trainer().warm() == v1::TrainerSpec::SUSPEND) spec.mutable_trainer()->clear_warm();
}

// Some workers leave by themselves, as under the time limit of an engine.
void DrawLives(Dice& dice, Profile& profile) {
  if (!dice.Chance(0.3)) return;
  for (HostProfile& host : profile.hosts) {
    if (dice.Chance(0.7)) host.life_us = dice.Between(5, 120) * kSecondUs;
  }
}

// Some workers cost money, about one a second, and some jobs may not spend much.
void DrawPrices(Dice& dice, Profile& profile) {
  if (!dice.Chance(0.3)) return;
  for (HostProfile& host : profile.hosts) host.cost_per_hour = static_cast<double>(dice.Between(0, 3)) * 1800;
  for (JobProfile& job : profile.jobs) {
    if (!job.comparable && dice.Chance(0.3))
      job.spec.mutable_limits()->set_max_cost(static_cast<double>(dice.Between(2, 40)));
  }
}

// Whether a rank takes one slot and no GPU, so that any worker with a free slot has room for it.
bool HasPlainRanks(const v1::ClusterSpec& cluster) {
  return cluster.slots() <= 1 && cluster.gpus() == 0 && cluster.gpu_share() == 0;
}

// Some workers run jobs of some projects only. The first runs all, so that no job waits for ever.
void DrawProjects(Dice& dice, Profile& profile) {
  const bool single = std::all_of(profile.jobs.begin(), profile.jobs.end(), [](const JobProfile& job) {
    const v1::ClusterSpec& cluster = job.spec.cluster();
    return cluster.nodes() <= 1 && HasPlainRanks(cluster);
  });
  if (!single || profile.hosts.size() < 2 || !dice.Chance(0.6)) return;
  for (JobProfile& job : profile.jobs) {
    if (dice.Chance(0.6)) job.project = dice.Chance(0.5) ? "vision" : "speech";
  }
  for (size_t i = 1; i < profile.hosts.size(); ++i) {
    for (const char* project : {"", "vision", "speech"}) {
      if (dice.Chance(0.4)) profile.hosts[i].projects.push_back(project);
    }
  }
}

// Some workers can be reached on their own machine alone. The others hold the widest trial, so that no job
// waits for ever.
void DrawLoopbackHosts(Dice& dice, Profile& profile) {
  int nodes = 1;
  for (const JobProfile& job : profile.jobs) {
    const v1::ClusterSpec& cluster = job.spec.cluster();
    if (!cluster.nodes_parameter().empty() || !HasPlainRanks(cluster)) return;
    nodes = std::max(nodes, cluster.nodes());
  }
  if (!dice.Chance(0.6)) return;
  int slots = 0;
  for (const HostProfile& host : profile.hosts) slots += host.slots;
  for (HostProfile& host : profile.hosts) {
    if (slots - host.slots < nodes || !dice.Chance(0.5)) continue;
    host.loopback_of = dice.Chance(0.7) ? "one machine" : "another machine";
    slots -= host.slots;
  }
}

// Some jobs are changed while they run, and continued after their end.
void DrawChanges(Dice& dice, Profile& profile) {
  if (!dice.Chance(0.35)) return;
  for (JobProfile& job : profile.jobs) {
    if (!dice.Chance(0.8)) continue;
    job.comparable = false;
    const int64_t mean_us = dice.Between(1, 10) * kSecondUs;
    int64_t at_us = job.submit_us;
    while ((at_us += dice.Between(1, 2 * mean_us)) < profile.faults_until_us) job.changes_us.push_back(at_us);
    job.continuations = dice.Between(0, 2);
  }
}

}  // namespace

const char* NameOf(Fault fault) {
  static constexpr const char* kNames[kFaults] = {"server killed",
                                                  "server killed before commit",
                                                  "server killed after commit",
                                                  "server stalled",
                                                  "commit fails",
                                                  "disk full",
                                                  "server's clock jumps",
                                                  "agent killed",
                                                  "agent stalled",
                                                  "worker's clock jumps",
                                                  "cut off",
                                                  "answers cut off",
                                                  "worker leaves",
                                                  "cordon",
                                                  "drain",
                                                  "message dropped",
                                                  "message duplicated",
                                                  "trainer fails",
                                                  "trainer out of memory",
                                                  "trainer hangs",
                                                  "cannot prepare",
                                                  "cannot start",
                                                  "waiting program dies",
                                                  "parent dies",
                                                  "commit unknown"};
  return kNames[static_cast<int>(fault)];
}

Profile DrawProfile(uint64_t seed, Scale scale) {
  Dice dice(seed ^ kProfileSalt);
  const bool large = scale == Scale::kLarge;
  Profile profile;
  profile.lease_us = dice.Between(2, 15) * kSecondUs;
  const int64_t hosts = large ? dice.Between(3, 10) : dice.Between(1, 3);
  const bool shared = dice.Chance(0.6);
  const bool gpus = dice.Chance(0.4);
  for (int64_t i = 0; i < hosts; ++i) {
    HostProfile host;
    host.name = fmt::format("host{}", i);
    host.slots = static_cast<int>(large ? dice.Between(2, 8) : dice.Between(1, 2));
    host.storage = shared ? "shared" : host.name;
    if (gpus) host.gpus = static_cast<int>(dice.Between(0, large ? 8 : 2));
    profile.hosts.push_back(host);
  }
  for (int fault = 0; fault < static_cast<int>(Fault::kDropped); ++fault) {
    if (dice.Chance(0.4)) profile.faults.push_back(static_cast<Fault>(fault));
  }
  profile.fault_every_us = dice.Between(1, 12) * kSecondUs;
  profile.faults_until_us = (large ? 3600 : dice.Between(10, 90)) * kSecondUs;
  profile.most_delay_us = dice.Chance(0.3) ? 2 * kSecondUs : dice.Between(1, 60) * 1000;
  if (dice.Chance(0.4)) profile.drop = 0.02 * static_cast<double>(dice.Between(1, 10));
  if (dice.Chance(0.4)) profile.duplicate = 0.02 * static_cast<double>(dice.Between(1, 10));
  if (dice.Chance(0.3)) profile.trainer_fails = 0.02 * static_cast<double>(dice.Between(1, 15));
  if (dice.Chance(0.1)) profile.trainer_hangs = 0.1;
  if (dice.Chance(0.2)) profile.prepare_fails = 0.1;
  if (dice.Chance(0.2)) profile.start_fails = 0.1;
  profile.thorough = large ? 1.0 / 1000 : 1.0 / 24;
  profile.max_reports = dice.Chance(0.3) ? 1 : 10'000;
  profile.unit_us = dice.Chance(0.5) ? dice.Between(1, 50) * 1000 : dice.Between(1, 20) * 100'000;
  profile.log = dice.Chance(0.2) ? 0.3 : 0;
  const int64_t jobs = large ? dice.Between(1, 4) : dice.Chance(0.2) ? 2 : 1;
  for (int64_t i = 0; i < jobs; ++i) {
    profile.jobs.push_back(DrawJob(dice, scale, static_cast<int>(i), profile));
  }
  if (dice.Chance(0.6)) profile.warm_trainers = static_cast<size_t>(dice.Between(1, 6));
  if (dice.Chance(0.4)) profile.waiting_dies = 0.2;
  if (dice.Chance(0.4)) profile.parent_dies = 0.3;
  for (JobProfile& job : profile.jobs) {
    if (dice.Chance(0.6)) job.spec.mutable_trainer()->set_warm(v1::TrainerSpec::FORK);
  }
  for (JobProfile& job : profile.jobs) DrawSuspension(dice, job.spec);
  for (JobProfile& job : profile.jobs) DrawPopulation(dice, scale, job);
  if (dice.Chance(0.5)) {
    profile.short_part_us = 100 * kSecondUs;
    for (HostProfile& host : profile.hosts) host.ahead = static_cast<int>(dice.Between(0, 3));
  }
  DrawLives(dice, profile);
  DrawPrices(dice, profile);
  DrawProjects(dice, profile);
  DrawChanges(dice, profile);
  DrawLoopbackHosts(dice, profile);
  return profile;
}

double ObjectiveAt(int64_t a, int64_t b, int64_t resource) {
  const uint64_t quality = RandomBits(static_cast<uint64_t>(a), b, Purpose::kSimulation, 7) % 1'000'003;
  if (quality % 29 == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(quality) / 1e6 + 0.5 / static_cast<double>(resource);
}

}  // namespace winnow
