/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FAULTS_H
#define RDMA_FAULTS_H

#include "rdma-fabric.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * What goes wrong with the links of a fabric while it runs: each fault begins and may end, by
 * events without context, so results are the same whoever simulates the nodes.
 *
 *     RdmaFaults faults(fabric, {detectionPs, convergencePs});
 *     faults.Add({RdmaFaults::Kind::DOWN, {2 * link, 2 * link + 1}, {}, 0, 100 * US, 300 * US});
 *     faults.Start();             // before the first event
 *
 * A cable that is cut:
 *
 *     cut           what is on the wire is lost; both ends still send into it, in vain
 *     + detection   its switches know: what waits for it is dropped (link_down), and they leave the
 *                   port out of their ways (local repair). Where no other way is left, frames are
 *                   dropped (dead_next_hop)
 *     + convergence all switches have tables without it, InfiniBand by a sweep of the subnet
 *                   manager; what nothing leads to is without a route (no_route)
 *     whole         both ends send again, and their switches use the port if their tables have it;
 *                   tables with it come the time of a convergence later
 *
 * A NIC of a bond (RdmaBond) knows as switches do: its other ports stand in, and it uses the port
 * again when the cable is whole.
 *
 * Another NIC does not know: it sends in vain, times out, and its queue pairs fail when they have
 * retried as often as they may. A switch or NIC that is down itself (Fault::dead) knows at once,
 * its neighbours after the time of a detection. When tables are made, what is known then is in
 * them.
 *
 * Circuits of optical switches are cables that come and go by a plan (AddCircuits): their switches
 * know at once, and tables are new with each change.
 *
 * Faults may overlap: a cable is whole when no fault cuts it; the slowest rate, the worst error
 * rate hold; of silent drops each takes its share.
 *
 * In one rank only.
 */
class RdmaFaults
{
  public:
    /// How long it takes the network to notice; ps, >= 0.
    struct Times
    {
        int64_t detectionPs;   //!< until a switch knows that the link at its port is dead
        int64_t convergencePs; //!< from then until all switches have other tables
    };

    enum class Kind : uint8_t
    {
        DOWN,         //!< cables are cut
        RATE,         //!< of both directions of cables; value: bit/s
        BIT_ERRORS,   //!< of what arrives at ends; value: probability of each bit
        SILENT_DROPS, //!< of what arrives at ends; value: probability of each frame
        PAUSE_STORM,  //!< ports at ends pause their peers all the time (Ethernet); value: mask
    };

    struct Fault
    {
        Kind kind;
        std::vector<uint32_t> ends; //!< of the fabric, ascending; of cables both
        std::vector<uint32_t> dead; //!< DOWN: those that are down themselves
        double value;
        int64_t beginPs;
        int64_t endPs;       //!< < 0: never
        bool isShare{false}; //!< RATE: value is a share of each cable's own rate
        int64_t periodPs{0}; //!< > 0: it comes and goes, first there; then endPs is needed
        int64_t upPs{0};     //!< of each period it is not there for the last so much
    };

    /// Cables that come and go by a plan.
    struct Circuits
    {
        struct Change
        {
            int64_t atPs;             //!< >= 0; ascending
            std::vector<uint32_t> up; //!< links that are there from then on, ascending
        };

        std::vector<uint32_t> links; //!< of all changes, ascending
        std::vector<Change> changes; //!< before the first one, none is there
        uint32_t again{0};           //!< changes from this one on come again,
        int64_t periodPs{0};         //!< every so often (0: they do not),
        int64_t untilPs{0};          //!< below this time
        int64_t darkPs{0};           //!< from a change until circuits that it makes carry frames
        int64_t drainPs{0};          //!< before a change tables leave out what it ends
    };

    static constexpr int64_t NEVER = -1;

    /// What came of a fault.
    struct Record
    {
        int64_t beginPs{NEVER};     //!< the first time
        int64_t endPs{NEVER};       //!< the last time
        int64_t detectedPs{NEVER};  //!< the first time that a switch knew
        int64_t reroutedPs{NEVER};  //!< the first tables after that
        uint64_t times{0};          //!< that it began
        uint64_t framesLost{0};     //!< on the wire, sent in vain, dropped from queues
        uint64_t pairsHit{0};       //!< of endpoints that lost data or ordinary packets by it, by
                                    //!< direction, those of framesStranded too
        uint64_t framesStranded{0}; //!< for which a switch had no way, of the whole fabric while it
                                    //!< was there: dead_next_hop, no_route
    };

    enum class Step : uint8_t
    {
        BEGINS,
        ENDS,
        DETECTED, //!< by the switch at an end
        REROUTED, //!< new tables
        CHANGED,  //!< circuits
    };

    struct Event
    {
        Step step;
        uint32_t fault;    //!< BEGINS, ENDS; else of some that it is due to
        uint32_t end;      //!< DETECTED
        uint32_t links;    //!< REROUTED: that tables leave out; CHANGED: circuits from now on
        std::string error; //!< REROUTED: why the old ones stay; or nothing
        int64_t now;
    };

    using Listener = std::function<void(const Event& event)>;

    RdmaFaults(RdmaFabric& fabric, const Times& times);
    ~RdmaFaults();

    RdmaFaults(const RdmaFaults&) = delete;
    RdmaFaults& operator=(const RdmaFaults&) = delete;

    /// Before Start. \return its number, from 0
    uint32_t Add(Fault fault);
    /// Before Start, once. \return its number, from 0, as of a fault of the kind DOWN that is there
    /// from the beginning: what circuits lose is its record. `times` counts changes
    uint32_t AddCircuits(Circuits circuits);
    /// Hears of all that happens, by events without context.
    void SetListener(Listener listener);
    /// Before the first event.
    void Start();

    uint32_t GetN() const
    {
        return static_cast<uint32_t>(m_faults.size());
    }

    const Fault& GetFault(uint32_t fault) const
    {
        return m_faults[fault];
    }

    /// As of now. Between the nodes' events.
    Record GetRecord(uint32_t fault) const;
    /// Bit of a pair of GetPairs whose answers were lost (ACKs, NAKs, and NDP's answers): source
    /// and destination are those of the data.
    static constexpr uint64_t ANSWERS = uint64_t{1} << 63;
    /// \return those of Record::pairsHit: endpoints, source << 32 | destination; and of those whose
    /// answers were lost, the same with ANSWERS
    std::set<uint64_t> GetPairs(uint32_t fault) const;

  private:
    /// A cable.
    struct Cable
    {
        uint32_t cuts{0};    //!< faults that cut it
        uint64_t changes{0}; //!< of that from 0 to 1 and back
        bool known{false};   //!< to a switch, as cut
        bool drained{false}; //!< a circuit that ends soon
        uint32_t fault{0};   //!< the last one
    };

    /// Whose losses those at an end are, for each kind that loses frames.
    struct Losses
    {
        int64_t owner{-1}; //!< fault
        uint64_t base{0};  //!< lost when it began
        std::set<uint64_t> pairs;
    };

    class Watcher;
    class SwitchWatcher;

    void Begin(uint32_t fault);
    void End(uint32_t fault);
    void Schedule(int64_t at, std::function<void()> what);
    void Apply(uint32_t fault, uint32_t end);
    void CutCables(uint32_t fault);
    void MendCables(uint32_t fault);
    void Detect(uint32_t link, uint64_t change);
    void MarkDead(uint32_t end);
    void FailOver(uint32_t end, uint32_t fault);
    void ScheduleTables(uint32_t fault);
    void MakeTables(uint32_t fault);
    void Pause(uint32_t fault);
    void StartCircuits();
    void ScheduleCircuits(uint64_t change);
    void DrainCircuits(uint64_t change);
    void ChangeCircuits(uint64_t change);
    void SetCircuits(const std::vector<uint32_t>& up);
    void LightCircuits();
    bool Mend(const std::vector<uint32_t>& links);
    const Circuits::Change& GetChange(uint64_t change) const;
    int64_t GetTimeOf(uint64_t change) const;
    void Tell(Step step,
              uint32_t fault,
              uint32_t end = 0,
              uint32_t links = 0,
              std::string error = {});
    uint64_t LostAt(Kind kind, uint32_t end) const;
    void Own(uint32_t fault);
    uint64_t CountStranded() const;
    void CollectStranded();
    static bool Loses(Kind kind);

    RdmaFabric& m_fabric;
    Times m_times;
    Listener m_listener;
    std::vector<Fault> m_faults;
    std::vector<Record> m_records;
    std::vector<std::set<uint64_t>> m_pairs; //!< by fault: of those at ends that others own now
    std::vector<uint64_t> m_strandedBefore;  //!< by fault
    std::vector<bool> m_active;
    std::vector<Cable> m_cables;
    std::vector<uint64_t> m_flushed; //!< by end: frames that a switch dropped from its queue
    std::vector<std::unique_ptr<Watcher>> m_watchers; //!< by end; null: no fault is there
    std::vector<std::unique_ptr<SwitchWatcher>> m_switchWatchers; //!< if cables may be cut
    std::unique_ptr<const Circuits> m_circuits;                   //!< null: none
    uint32_t m_circuitFault{0};
    std::vector<bool>
        m_failedOver;            //!< by end: of a bond, whose NICs send by other ports; empty: none
    std::vector<uint32_t> m_lit; //!< circuits that are there, ascending
    std::vector<uint32_t> m_getting; //!< those that are dark yet, ascending
};

} // namespace ns3

#endif /* RDMA_FAULTS_H */
