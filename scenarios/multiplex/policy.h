/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Who runs when, with which batch and share. A policy is one file of policies/, which registers it
 * by name:
 *
 *     const RegisteredPolicy g_temporal({"temporal", 1, "one model at a time ...",
 *                                       [](auto&) { return std::make_unique<Temporal>(); }});
 *
 * It places the models once (Prepare), and is asked at each event of a GPU what starts there
 * (Choose). A model runs one batch at a time.
 */
#ifndef SCENARIOS_MULTIPLEX_POLICY_H
#define SCENARIOS_MULTIPLEX_POLICY_H

#include "scenarios/multiplex/knee.h"
#include "scenarios/multiplex/mix.h"
#include "topologies/registered.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace multiplex
{

/// Picoseconds.
using Time = int64_t;

constexpr double kPsPerSecond = 1e12;

/// Where a model runs, and how.
struct Place
{
    uint32_t gpu = 0;
    double percent = kWholeGpu; ///< its share while it runs
    uint32_t batch = 1;         ///< the largest
    uint32_t part = 0;          ///< of the GPU, if models take turns in parts of it
};

struct Plan
{
    std::vector<Place> places; ///< by model
    uint32_t gpus = 1;         ///< in use; some policies add GPUs
    std::vector<std::string> notes;
    std::string why;     ///< the mix cannot be placed so; empty: it can
    int32_t model = -1;  ///< the model that `why` is about; -1: all
    std::string key;     ///< and its key: "share"
    std::string nearest; ///< a value that would do
};

/// A batch to start.
struct Start
{
    uint32_t model;
    uint32_t batch;
    double percent;
    double lead = 0; ///< s ahead of the work: a switch
};

/// A model of a GPU, at a moment.
struct Seat
{
    uint32_t model = 0;
    uint64_t waiting = 0; ///< requests in its queue, not in a batch
    Time oldest = 0;      ///< arrival of the first of them
    bool running = false;
};

/// A GPU, at a moment.
struct GpuView
{
    Time now = 0;
    uint32_t gpu = 0;
    const std::vector<Seat>& seats;
    double free = kWholeGpu;                          ///< per cent that no running batch has
    double used = 0;                                  ///< per cent in use
    const std::vector<std::pair<Time, double>>& ends; ///< of running batches, with their shares
};

/// What shares mean while several run.
enum class Sharing : uint8_t
{
    kOwn,   ///< each has the share that it was started with
    kEqual, ///< all that run have equal shares, but none more than its own
    kFluid, ///< what a kernel cannot use of its share others have at once; the first due first
};

class Policy
{
  public:
    virtual ~Policy() = default;

    virtual Plan Prepare(const Mix& mix, uint32_t gpus) = 0;

    /// Adds what starts now. Called again after it has started, until nothing is added.
    virtual void Choose(const GpuView& view, std::vector<Start>* starts) = 0;

    virtual Sharing GetSharing() const
    {
        return Sharing::kOwn;
    }

    /// Whether models that run at once slow each other down beyond their shares.
    virtual bool Interferes() const
    {
        return true;
    }
};

/// What a policy is made of.
struct PolicySettings
{
    double switchTime = 0;    ///< s
    bool interference = true; ///< of models that run at once
};

struct PolicyEntry
{
    static constexpr const char* kWhat = "policies";

    std::string name;
    int rank; ///< in lists: from the simplest to the bound
    std::string description;
    std::function<std::unique_ptr<Policy>(const PolicySettings&)> make;
};

using RegisteredPolicy = topo::Registered<PolicyEntry>;

// Parts that policies have in common.

/// What is needed of a model's batch and share.
Need NeedOf(const ModelLoad& load);

/// A GPU for each model: where the mix says so, else the one with the least load so far; the
/// largest load first. \param loads by model
std::vector<uint32_t> SpreadOver(uint32_t gpus, const Mix& mix, const std::vector<double>& loads);

/// Starts what waits, at its place: one batch of each model that does not run.
void StartEach(const GpuView& view, const std::vector<Place>& places, std::vector<Start>* starts);

/// Makes shares of each GPU fit into it: those that a policy chose are scaled down, in proportion,
/// to multiples of kShareUnit. \return why they cannot: shares of the mix are above 100%
std::string FitShares(const Mix& mix, Plan* plan);

/// "40%", "12.5%".
std::string ShareText(double percent);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_POLICY_H
