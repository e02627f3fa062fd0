/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The front end and all engines: who serves which request, what the instances do next, and what
 * the run came to. It knows no time of its own and no network. Whoever simulates (a Backend) calls
 * it with what has happened, in the order of time, and carries out its orders:
 *
 *     Arrive(now)                   -->   Backend::Run(iteration)
 *     IterationEnded(...)           -->   Backend::Transfer(KV of a request)
 *     TransferEnded(...)
 *
 * So several processes that simulate one run can each have one, which all do the same.
 */
#ifndef SCENARIOS_INFERENCE_CONTROLLER_H
#define SCENARIOS_INFERENCE_CONTROLLER_H

#include "scenarios/inference/engine.h"
#include "scenarios/inference/router.h"
#include "scenarios/inference/serving-record.h"
#include "scenarios/inference/serving-spec.h"
#include "scenarios/traffic/random.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace serving
{

/// KV of a request from one engine to another.
struct TransferOrder
{
    uint32_t request = 0;
    uint32_t from = 0; ///< instance
    uint32_t fromEngine = 0;
    uint32_t to = 0; ///< instance
    uint32_t toEngine = 0;
    uint32_t tokens = 0;
};

/// An iteration of an instance.
struct IterationOrder
{
    uint32_t instance = 0;
    uint32_t number = 0;          ///< of the instance, from 0
    std::vector<BatchLoad> loads; ///< by engine; of one without work nothing in it
    /// KV that leaves as its layers are computed (KvTransferEntry::byLayer): each ends with a
    /// TransferEnded of its own.
    std::vector<TransferOrder> byLayer;
};

/// Carries out orders, at the current time. It calls back later, never within.
class Backend
{
  public:
    virtual ~Backend() = default;
    /// Behind the iterations of this instance that have not ended. They end in their order.
    virtual void Run(const IterationOrder& iteration) = 0;
    virtual void Transfer(const TransferOrder& transfer) = 0;
};

/// An instance of a pool, and its GPUs.
struct InstancePlace
{
    uint32_t pool = 0;
    uint32_t firstGpu = 0;
};

/// Whether an instance has GPUs in several servers. \param gpus of a server
inline bool
IsBetweenServers(const InstancePlace& place, const PoolSpec& pool, uint32_t gpus)
{
    return place.firstGpu / gpus != (place.firstGpu + pool.GpusOfInstance() - 1) / gpus;
}

/// All instances, those of the first pool first.
std::vector<InstancePlace> PlacesOf(const ServingSpec& spec);

class Controller
{
  public:
    /// \param spec outlives this, as the backend \param requests in the order of their arrivals
    Controller(const ServingSpec& spec, std::vector<Request> requests, Backend& backend);
    ~Controller();

    /// \return ps of the next arrival; INT64_MAX: there is none that is known
    int64_t NextArrival() const;
    /// Requests come that have arrived by now.
    void Arrive(int64_t now);
    /// The oldest iteration of the instance that has not ended. \param at ps: when it did, no later
    /// than now
    void IterationEnded(uint32_t instance, int64_t at, int64_t now);
    /// A transfer of this request's KV, or one of its parts by layer.
    void TransferEnded(uint32_t request, int64_t at, int64_t now);

    /// All requests are answered.
    bool IsDone() const
    {
        return m_answered == m_requests.size();
    }

    uint64_t CountAnswered() const
    {
        return m_answered;
    }

    uint64_t CountRequests() const
    {
        return m_requests.size();
    }

    /// The run is over. \param seconds by instance: mean over its GPUs of what TimePart is known to
    /// the backend: all but kPipeline's waiting, kKv, kIdle
    ServingOutcome TakeOutcome(int64_t now,
                               const std::vector<std::array<double, kTimeParts>>& seconds);

    /// \return what requests wait for, a line each
    std::vector<std::string> DescribeUnfinished() const;

  private:
    struct EngineOf;
    struct Instance;

    /// What the controller knows of a request beside its record.
    struct State
    {
        Live* held = nullptr; ///< by the engine that did its prompt, until its KV has left
        std::unique_ptr<Live>
            decoding; ///< has blocks of the engine that decodes, or waits for them
        uint32_t fromEngine = 0;
        uint32_t to = UINT32_MAX; ///< instance; UINT32_MAX: not chosen
        uint32_t toEngine = 0;
        uint32_t piecesLeft = 0; ///< transfers under way
        uint32_t toSend = 0;     ///< tokens whose KV is not under way
        int64_t blockedSince = -1;
        bool prompted = false; ///< its prompt is done
        bool whole = false;    ///< not by layer: it has lost its KV once
    };

    void Enter(uint32_t request, int64_t now);
    /// \return (instance, engine)
    std::pair<uint32_t, uint32_t> Route(uint32_t pool);
    void TryStart(uint32_t instance, int64_t now);
    /// Engine::Told
    bool OnTokens(uint32_t instance,
                  uint32_t engine,
                  Live& request,
                  uint32_t tokens,
                  bool done,
                  int64_t at,
                  int64_t now);
    void Answer(uint32_t request, int64_t at, int64_t now);
    // Split:
    void ChooseDecoder(uint32_t request);
    /// It gets blocks of its decoding engine. \return whether it has them
    bool ReserveFor(uint32_t request, int64_t now);
    /// By layer: requests that have lost their KV give back what was reserved for them. Those that
    /// hold theirs may wait for it.
    void LeaveDecoders(Engine& engine, int64_t now);
    void SendWhole(uint32_t request, int64_t now);
    /// Requests that wait for blocks of this engine, in order.
    void ServeBlocked(uint32_t instance, uint32_t engine, int64_t now);
    void TransferDone(uint32_t request, int64_t at, int64_t now);
    void SendByLayer(uint32_t instance,
                     uint32_t engine,
                     const Batch& batch,
                     IterationOrder* order,
                     int64_t now);

    void Account(Instance& instance, int64_t now);
    /// Notes the queue and the blocks of an instance.
    void Sample(uint32_t instance, int64_t now);
    /// Notes if requests come faster than they are answered.
    void JudgePace(ServingOutcome* outcome) const;

    const ServingSpec& m_spec;
    std::vector<Request> m_arrivals;
    Backend& m_backend;
    uint32_t m_next = 0; ///< request that has not come
    std::vector<RequestRecord> m_requests;
    std::vector<State> m_states;
    std::vector<std::unique_ptr<Instance>> m_instances;
    std::vector<std::pair<uint32_t, uint32_t>> m_instancesOf; ///< by pool: the first, how many
    std::vector<std::unique_ptr<Router>> m_routers;           ///< by pool
    bool m_byLayer;                                           ///< KvTransferEntry::byLayer
    uint64_t m_answered = 0;
    bool m_followed = false; ///< requests of a closed loop have come, by answers to earlier ones
    scenario::Random m_random;
    std::vector<IterationRecord> m_iterations;
    std::vector<LoadSample> m_samples;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_CONTROLLER_H
