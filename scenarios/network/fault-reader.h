/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_NETWORK_FAULT_READER_H
#define SCENARIOS_NETWORK_FAULT_READER_H

#include "scenarios/network/fault-kinds.h"
#include "scenarios/options/validation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// Makes faults of the entries of --fault, one by one.
class FaultReader
{
  public:
    explicit FaultReader(Validation* v)
        : m_v(v)
    {
    }

    /// One entry without its place. \return nothing after an error
    std::optional<Fault> Read(std::size_t index, const KnownFault** known);
    /// \param key key of the entry; empty: the error is about the whole entry
    void Fail(const std::string& key, std::string problem, std::string nearest = "");

    /// The options of the whole run.
    const Values& Options() const
    {
        return m_v->values;
    }

    /// \return empty: the entry does not have it
    std::string Get(const std::string& key) const;

  private:
    std::string EntryText() const;
    bool ReadTime(const std::string& key, int64_t least, rdma::Duration* to);
    bool ReadTo(const KnownFault& known, Fault* fault);
    bool ReadFlap(Fault* fault);

    Validation* m_v;
    std::vector<std::pair<std::string, std::string>> m_entry;
    std::string m_where;
};

} // namespace scenario

#endif // SCENARIOS_NETWORK_FAULT_READER_H
