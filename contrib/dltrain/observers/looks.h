/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOOKS_H
#define LOOKS_H

#include <cstdint>

namespace dltrain
{

/**
 * When an observer looked at the network last, and whether it will look again. The last interval is
 * partial: it ends with the simulation.
 */
class Looks
{
  public:
    /// \return of the last look, ps
    int64_t GetLast() const
    {
        return m_last;
    }

    void Note(int64_t now)
    {
        m_last = now;
    }

    bool AreOver() const
    {
        return m_over;
    }

    /// The last look, if time has passed since the one before. \param look is called with the time
    /// \return whether they were not over before
    template <class Look>
    bool End(int64_t now, Look look)
    {
        if (m_over)
        {
            return false;
        }
        if (now > m_last)
        {
            look(now);
        }
        m_over = true;
        return true;
    }

  private:
    int64_t m_last{0};
    bool m_over{false};
};

} // namespace dltrain

#endif /* LOOKS_H */
