/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Algorithms by operation and name. An algorithm is one file that ends in a line like
 *
 *     static const Registered<RingAllReduce> g_ring{"ring", Op::kAllReduce, "help", facts};
 *
 * and is then listed by --help, found by name, and proved by the tests, which go through the
 * registry.
 */
#ifndef COLLECTIVES_CORE_REGISTRY_H
#define COLLECTIVES_CORE_REGISTRY_H

#include "collectives/core/schedule.h"

#include <utility>

namespace coll
{

/// As nccl-tests spells it: all_reduce, reduce_scatter, all_gather, broadcast, reduce, gather,
/// scatter, alltoall, sendrecv; alltoallv, as rccl-tests; and barrier.
std::string OpName(Op op);

/// Accepts OpName's spelling, and case, '-' and '_' as you like: "all_to_all", "All-Reduce".
std::optional<Op> ParseOp(const std::string& name);

/// All operations, in the order of Op.
const std::vector<Op>& AllOps();

/// nullptr: no such algorithm for this operation.
const Algorithm* Find(Op op, const std::string& name);

/// Sorted by name.
std::vector<const Algorithm*> AlgorithmsFor(Op op);

/// "hierarchical, ring": what an error message offers.
std::string AlgorithmNames(Op op);

/// All knobs, in the order of Knob.
const std::vector<Knob>& AllKnobs();

/// As the option that sets it is called: "parameter-servers".
std::string KnobName(Knob knob);

/// The names of all that read a knob, sorted and each once.
std::vector<std::string> AlgorithmsReading(Knob knob);

/// Whether an algorithm goes along the cables of a grid (Placement::at).
bool FollowsGrids(const Algorithm& algorithm);

/// The algorithm that runs when none is named. It can do every well-formed placement.
const Algorithm& DefaultAlgorithm(Op op, const Placement& placement);

/// Throws std::logic_error when one of these names is taken for one of these operations.
void Register(std::unique_ptr<Algorithm> algorithm);

/// Registers an algorithm of a user's file (msccl-xml.h): found by its name, and in no list. Throws
/// as Register.
void RegisterUnlisted(std::unique_ptr<Algorithm> algorithm);

template <class A>
struct Registered
{
    template <class... Arguments>
    explicit Registered(Arguments&&... arguments)
    {
        Register(std::make_unique<A>(std::forward<Arguments>(arguments)...));
    }
};

/// The common part of all algorithms of one operation: a name, a line of help, and the refusal of
/// requests that no algorithm could do.
class OneOpAlgorithm : public Algorithm
{
  public:
    OneOpAlgorithm(std::string name, Op op, std::string description, AlgorithmFacts facts = {});

    std::string Name() const override;
    std::string Description() const override;
    bool Supports(Op op) const override;
    const AlgorithmFacts& Facts() const override;
    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override;

  protected:
    /// Throws std::invalid_argument with what WhyNot says.
    void Require(const Collective& what,
                 const Placement& placement,
                 const AlgorithmOptions& options) const;

  private:
    std::string m_name;
    Op m_op;
    std::string m_description;
    AlgorithmFacts m_facts;
};

} // namespace coll

#endif // COLLECTIVES_CORE_REGISTRY_H
