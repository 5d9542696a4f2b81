-- The five transactions of TPROC-C, one call each, after the public description of TPC-C (clauses 2.4 to
-- 2.8). Sessions set search_path to pg_catalog, redolab_tprocc.

-- A procedure, since it rolls back: an order with an item that nobody has. r_order is then 0.
CREATE PROCEDURE redolab_tprocc.new_order(
    p_w int, p_d int, p_c int, p_items int[], p_suppliers int[], p_quantities int[],
    INOUT r_order int, INOUT r_total numeric
) LANGUAGE plpgsql AS $$
DECLARE
    v_discount numeric;
    v_last varchar;
    v_credit char(2);
    v_w_tax numeric;
    v_d_tax numeric;
    v_lines bigint;
BEGIN
    SELECT c_discount, c_last, c_credit, w_tax INTO STRICT v_discount, v_last, v_credit, v_w_tax
    FROM warehouse, customer
    WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;

    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = p_w AND d_id = p_d
    RETURNING d_next_o_id - 1, d_tax INTO STRICT r_order, v_d_tax;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, o_entry_d)
    VALUES (p_w, p_d, r_order, p_c, NULL, cardinality(p_items),
        CASE WHEN p_w = ALL (p_suppliers) THEN 1 ELSE 0 END, localtimestamp);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (p_w, p_d, r_order);

    -- An item may be in an order twice, its stock is changed once. Every order locks stock in one order.
    WITH line AS MATERIALIZED (
        SELECT n, i, s, q, i_price
        FROM unnest(p_items, p_suppliers, p_quantities) WITH ORDINALITY AS u (i, s, q, n)
        JOIN item ON i_id = i
    ), taken AS (
        UPDATE stock SET
            s_quantity = s_quantity - t.q + CASE WHEN s_quantity - t.q >= 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + t.q,
            s_order_cnt = s_order_cnt + t.n,
            s_remote_cnt = s_remote_cnt + CASE WHEN t.s = p_w THEN 0 ELSE t.n END
        FROM (
            SELECT s, i, sum(q)::int AS q, count(*)::int AS n FROM line GROUP BY s, i ORDER BY s, i
        ) AS t
        WHERE s_w_id = t.s AND s_i_id = t.i
        RETURNING s_w_id, s_i_id, CASE p_d
            WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
    ), added AS (
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        SELECT p_w, p_d, r_order, n, i, s, NULL, q, q * i_price, dist
        FROM line JOIN taken ON s_w_id = s AND s_i_id = i
        RETURNING ol_amount
    )
    SELECT count(*), sum(ol_amount) INTO v_lines, r_total FROM added;

    IF v_lines <> cardinality(p_items) THEN
        ROLLBACK;
        r_order := 0;
        r_total := 0;
    ELSE
        r_total := r_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax);
    END IF;
END $$;

-- The number of a customer: p_c where it is not 0, otherwise the one in the middle of those with the last
-- name, by first name.
CREATE FUNCTION redolab_tprocc.customer_number(p_w int, p_d int, p_c int, p_last varchar)
RETURNS int LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_numbers int[];
BEGIN
    IF p_c <> 0 THEN
        RETURN p_c;
    END IF;
    SELECT array_agg(c_id ORDER BY c_first) INTO v_numbers
    FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    RETURN v_numbers[(cardinality(v_numbers) + 1) / 2];
END $$;

CREATE FUNCTION redolab_tprocc.payment(
    p_w int, p_d int, p_c_w int, p_c_d int, p_c int, p_last varchar, p_cents int
) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_amount numeric(6, 2) := p_cents / 100.0;
    v_c int := customer_number(p_c_w, p_c_d, p_c, p_last);
    v_d_name varchar;
    v_w_name varchar;
BEGIN
    UPDATE customer SET
        c_balance = c_balance - v_amount,
        c_ytd_payment = c_ytd_payment + v_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
            THEN left(concat_ws(' ', v_c, p_c_d, p_c_w, p_d, p_w, v_amount, c_data), 500)
            ELSE c_data END
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'redolab: no customer % in warehouse %, district %', v_c, p_c_w, p_c_d;
    END IF;

    -- The row that all payments of a warehouse share is locked last.
    UPDATE district SET d_ytd = d_ytd + v_amount
    WHERE d_w_id = p_w AND d_id = p_d RETURNING d_name INTO STRICT v_d_name;
    UPDATE warehouse SET w_ytd = w_ytd + v_amount
    WHERE w_id = p_w RETURNING w_name INTO STRICT v_w_name;

    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
    VALUES (p_c_w, p_c_d, v_c, p_w, p_d, localtimestamp, v_amount, concat(v_w_name, '    ', v_d_name));
    RETURN v_c;
END $$;

-- Returns the number of orders that were delivered, at most one of each district.
CREATE FUNCTION redolab_tprocc.delivery(p_w int, p_carrier int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_order int;
    v_c int;
    v_sum numeric;
    v_delivered int := 0;
BEGIN
    FOR v_d IN 1..10 LOOP
        -- A delivery that runs at the same time is waited for: no order is left between two others.
        SELECT no_o_id INTO v_order FROM new_order
        WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order;
        UPDATE orders SET o_carrier_id = p_carrier
        WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order RETURNING o_c_id INTO STRICT v_c;
        WITH line AS (
            UPDATE order_line SET ol_delivery_d = localtimestamp
            WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order RETURNING ol_amount
        )
        SELECT sum(ol_amount) INTO v_sum FROM line;
        UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
        v_delivered := v_delivered + 1;
    END LOOP;
    RETURN v_delivered;
END $$;

-- Returns the number of items of the last 20 orders of a district whose stock is below the threshold.
CREATE FUNCTION redolab_tprocc.stock_level(p_w int, p_d int, p_threshold int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_next int;
    v_low int;
BEGIN
    SELECT d_next_o_id INTO STRICT v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    SELECT count(DISTINCT s_i_id) INTO v_low
    FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
        AND s_w_id = p_w AND s_quantity < p_threshold;
    RETURN v_low;
END $$;

-- Returns the number of lines of the last order of a customer.
CREATE FUNCTION redolab_tprocc.order_status(p_w int, p_d int, p_c int, p_last varchar)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_c int := customer_number(p_w, p_d, p_c, p_last);
    v_name varchar;
    v_balance numeric;
    v_order int;
    v_carrier int;
    v_entered timestamp;
    v_lines int;
    v_sum numeric;
    v_delivered timestamp;
BEGIN
    SELECT c_last, c_balance INTO STRICT v_name, v_balance
    FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;
    SELECT o_id, o_carrier_id, o_entry_d INTO STRICT v_order, v_carrier, v_entered
    FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1;
    SELECT count(*), sum(ol_amount), max(ol_delivery_d) INTO v_lines, v_sum, v_delivered
    FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order;
    RETURN v_lines;
END $$;
