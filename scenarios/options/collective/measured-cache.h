/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measurements of --tuner=measured, kept in a file for each network:
 *
 *     {"format": "dltrain measured collectives", "format_version": 1,
 *      "network": {"program_version": "0.1.0", "measurement_version": 2, "seed": 1,
 *                  "topology": "9f86d081884c7d65", "hosts": [0, 1, ...], "machine": {...},
 *                  "options": {"network": {...}, "fabric": {...}, ...}, "files": {...}},
 *      "measured": [{"op": "all_reduce", "root": 0, "from_bytes": 1048576, "ranks": 16,
 *                    "groups": 1, "groups_digest": "...",
 *                    "tried": [{"algorithm": "ring", "protocol": "ll128", "channels": 0,
 *                               "formula_us": 93.1, "time_ps": 120000000}, ...],
 *                    "digest": "..."}, ...]}
 *
 * `network` is all that a measurement depends on: a network of other rates, another congestion
 * control, placement, seed, other constants of a server or a later version of this program has a
 * file of its own, as its name is a digest of it. The options that stand in it are those of
 * the configuration as run, without what says only what runs (algorithms, sizes). `groups_digest`
 * is of the ranks of all groups. `digest` is of the whole measurement, so that a time that nobody
 * has measured, of a file that was edited or damaged, is refused. What is `tried` has to be what
 * the run would try, else it is measured anew.
 *
 * A file is written beside its name and then renamed, so that a process that is killed leaves the
 * old one or the new one. Of two that measure at once the later one wins; times are the same.
 */
#ifndef SCENARIOS_OPTIONS_COLLECTIVE_MEASURED_CACHE_H
#define SCENARIOS_OPTIONS_COLLECTIVE_MEASURED_CACHE_H

#include "scenarios/options/collective/measured-choices.h"
#include "scenarios/run/scenario.h"

#include <nlohmann/json.hpp>
#include <string>

namespace scenario
{

/// Of the measurements themselves: to be raised when what is measured becomes another time.
constexpr uint32_t kMeasurementVersion = 2; // 2: with a digest

/// All that a measurement depends on.
nlohmann::json MeasurementKey(const RunOptions& run,
                              const ClusterSpec& cluster,
                              const coll::Machine& machine);

class MeasuredCache
{
  public:
    MeasuredCache(const std::string& folder, nlohmann::json key);

    const std::string& File() const
    {
        return m_file;
    }

    /// Sets times of what was measured before. \return what is wrong with the file, or nothing; no
    /// file is not wrong
    std::string Read(MeasuredChoices* choices);

    /// Makes the folder. \return why it cannot be written, or nothing
    std::string Prepare() const;

    /// Keeps what is known now, beside what stands there already. \return why it could not be
    /// written, or nothing
    std::string Write(const MeasuredChoices& choices);

  private:
    std::string m_folder;
    nlohmann::json m_key;
    std::string m_file;
    nlohmann::json m_measured = nlohmann::json::array(); ///< as it stood there
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_COLLECTIVE_MEASURED_CACHE_H
