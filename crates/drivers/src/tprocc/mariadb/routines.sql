-- The five transactions of TPROC-C, one call each, after the public description of TPC-C (clauses 2.4 to
-- 2.8). Each routine ends its transaction itself and then returns one number. An error, such as a deadlock,
-- rolls back everything before the caller learns of it. Routines are divided by lines of two slashes.

-- Returns the number of the order; 0 where it was rolled back, since nobody has one of its items. A line is
-- 14 digits: 6 of the item, 6 of the warehouse that supplies it, 2 of the quantity.
CREATE PROCEDURE redolab_tprocc.new_order(
    p_w int, p_d int, p_c int, p_is_local int, p_count int, p_lines varchar(210)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_order, v_item, v_supplier, v_quantity, v_left int;
    DECLARE v_n int DEFAULT 0;
    DECLARE v_discount, v_w_tax, v_d_tax decimal(4, 4);
    DECLARE v_last varchar(16);
    DECLARE v_credit char(2);
    DECLARE v_price decimal(5, 2);
    DECLARE v_dist char(24);
    DECLARE v_total decimal(12, 2) DEFAULT 0;
    DECLARE v_is_missing boolean DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_is_missing = TRUE;

    START TRANSACTION;
    SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax
    FROM warehouse JOIN customer ON c_w_id = w_id
    WHERE w_id = p_w AND c_d_id = p_d AND c_id = p_c;

    -- Locked before it is read, so that no two orders get one number.
    SELECT d_next_o_id, d_tax INTO v_order, v_d_tax
    FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
    UPDATE district SET d_next_o_id = v_order + 1 WHERE d_w_id = p_w AND d_id = p_d;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, o_entry_d)
    VALUES (p_w, p_d, v_order, p_c, NULL, p_count, p_is_local, NOW());
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (p_w, p_d, v_order);

    WHILE v_n < p_count AND NOT v_is_missing DO
        SET v_item = SUBSTR(p_lines, 14 * v_n + 1, 6);
        SET v_supplier = SUBSTR(p_lines, 14 * v_n + 7, 6);
        SET v_quantity = SUBSTR(p_lines, 14 * v_n + 13, 2);
        SET v_n = v_n + 1;
        SELECT i_price INTO v_price FROM item WHERE i_id = v_item;
        IF NOT v_is_missing THEN
            SELECT s_quantity, CASE p_d
                WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO v_left, v_dist
            FROM stock WHERE s_w_id = v_supplier AND s_i_id = v_item FOR UPDATE;
            UPDATE stock SET
                s_quantity = v_left - v_quantity + IF(v_left - v_quantity >= 10, 0, 91),
                s_ytd = s_ytd + v_quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + IF(v_supplier = p_w, 0, 1)
            WHERE s_w_id = v_supplier AND s_i_id = v_item;
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            VALUES (p_w, p_d, v_order, v_n, v_item, v_supplier, NULL, v_quantity, v_quantity * v_price, v_dist);
            SET v_total = v_total + v_quantity * v_price;
        END IF;
    END WHILE;

    IF v_is_missing THEN
        ROLLBACK;
        SELECT 0, 0;
    ELSE
        COMMIT;
        SELECT v_order, v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax);
    END IF;
END
//
-- The number of a customer: p_c where it is not 0, otherwise the one in the middle of those with the last
-- name, by first name.
CREATE PROCEDURE redolab_tprocc.customer_number(
    p_w int, p_d int, p_last varchar(16), INOUT p_c int
) READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_before int;
    IF p_c = 0 THEN
        SELECT (COUNT(*) - 1) DIV 2 INTO v_before
        FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
        IF v_before < 0 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'redolab: no customer has this last name';
        END IF;
        SELECT c_id INTO p_c
        FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
        ORDER BY c_first LIMIT v_before, 1;
    END IF;
END
//
-- Returns the number of the customer.
CREATE PROCEDURE redolab_tprocc.payment(
    p_w int, p_d int, p_c_w int, p_c_d int, p_c int, p_last varchar(16), p_cents int
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_amount decimal(6, 2) DEFAULT p_cents / 100;
    DECLARE v_d_name, v_w_name varchar(10);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    CALL customer_number(p_c_w, p_c_d, p_last, p_c);
    UPDATE customer SET
        c_balance = c_balance - v_amount,
        c_ytd_payment = c_ytd_payment + v_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = IF(c_credit = 'BC',
            LEFT(CONCAT_WS(' ', c_id, p_c_d, p_c_w, p_d, p_w, v_amount, c_data), 500), c_data)
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c;
    IF ROW_COUNT() <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'redolab: there is no such customer';
    END IF;

    -- The row that all payments of a warehouse share is locked last.
    UPDATE district SET d_ytd = d_ytd + v_amount WHERE d_w_id = p_w AND d_id = p_d;
    SELECT d_name INTO v_d_name FROM district WHERE d_w_id = p_w AND d_id = p_d;
    UPDATE warehouse SET w_ytd = w_ytd + v_amount WHERE w_id = p_w;
    SELECT w_name INTO v_w_name FROM warehouse WHERE w_id = p_w;

    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
    VALUES (p_c_w, p_c_d, p_c, p_w, p_d, NOW(), v_amount, CONCAT(v_w_name, '    ', v_d_name));
    COMMIT;
    SELECT p_c;
END
//
-- Returns the number of orders that were delivered, at most one of each district.
CREATE PROCEDURE redolab_tprocc.delivery(p_w int, p_carrier int)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_order, v_c int;
    DECLARE v_sum decimal(12, 2);
    DECLARE v_d int DEFAULT 1;
    DECLARE v_delivered int DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    -- A district of which everything is delivered.
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_order = NULL;

    START TRANSACTION;
    WHILE v_d <= 10 DO
        -- A delivery that runs at the same time is waited for: no order is left between two others.
        SELECT no_o_id INTO v_order FROM new_order
        WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF v_order IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order;
            -- What the transaction has changed it also reads, however new it is.
            UPDATE orders SET o_carrier_id = p_carrier
            WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order;
            SELECT o_c_id INTO v_c FROM orders
            WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order;
            UPDATE order_line SET ol_delivery_d = NOW()
            WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
            SELECT SUM(ol_amount) INTO v_sum FROM order_line
            WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
            UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
            SET v_delivered = v_delivered + 1;
        END IF;
        SET v_d = v_d + 1;
    END WHILE;
    COMMIT;
    SELECT v_delivered;
END
//
-- Returns the number of items of the last 20 orders of a district whose stock is below the threshold.
CREATE PROCEDURE redolab_tprocc.stock_level(p_w int, p_d int, p_threshold int)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_next, v_low int;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    SELECT COUNT(DISTINCT s_i_id) INTO v_low
    FROM order_line STRAIGHT_JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
        AND s_w_id = p_w AND s_quantity < p_threshold;
    COMMIT;
    SELECT v_low;
END
//
-- Returns the number of lines of the last order of a customer.
CREATE PROCEDURE redolab_tprocc.order_status(p_w int, p_d int, p_c int, p_last varchar(16))
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_name varchar(16);
    DECLARE v_balance, v_sum decimal(12, 2);
    DECLARE v_order, v_carrier, v_lines int;
    DECLARE v_entered, v_delivered datetime;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    CALL customer_number(p_w, p_d, p_last, p_c);
    SELECT c_last, c_balance INTO v_name, v_balance
    FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    SELECT o_id, o_carrier_id, o_entry_d INTO v_order, v_carrier, v_entered
    FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = p_c ORDER BY o_id DESC LIMIT 1;
    SELECT COUNT(*), SUM(ol_amount), MAX(ol_delivery_d) INTO v_lines, v_sum, v_delivered
    FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order;
    COMMIT;
    SELECT v_lines;
END
