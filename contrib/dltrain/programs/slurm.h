/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SLURM_H
#define DLTRAIN_SLURM_H

#include <string>
#include <vector>

namespace dltrain
{

/**
 * Runs as jobs of Slurm: a process here, srun, for each, which waits for a place, hands signals on,
 * and ends as the run does.
 */
class Slurm
{
  public:
    /// \param options words for srun, as a shell would split them, with or without their dashes
    explicit Slurm(const std::string& options);

    /// \return the words ahead of a run's command
    std::vector<std::string> Words() const;

    /// Asks a node. \return why runs cannot go there: no srun, a folder or a program that nodes do
    /// not see; empty: they can
    std::string WhyNot(const std::string& folder, const std::string& program) const;

    /// \param log of a run that has ended \return the node that was lost under it; empty: none was
    static std::string LostNode(const std::string& log);

  private:
    std::vector<std::string> m_options;
};

} // namespace dltrain

#endif // DLTRAIN_SLURM_H
